"""A past that a sandbox makes up, in the history."""
