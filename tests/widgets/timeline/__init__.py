"""The timeline of a composition."""
