"""The admin interface."""
