"""The I/O thread, the one network loop, and secrets."""
