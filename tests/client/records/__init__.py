"""What the client writes to the history and finds there."""
