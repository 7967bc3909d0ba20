"""One field's control."""
