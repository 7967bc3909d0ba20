"""What is known of local and remote files."""
