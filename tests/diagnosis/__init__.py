"""What `mk.doctor()` says of an installation and its service."""
