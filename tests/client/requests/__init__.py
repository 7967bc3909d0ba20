"""From what a person typed to the validated request."""
