"""A lost history, and a sample one."""
