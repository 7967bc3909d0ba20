"""Downloads and previews."""
