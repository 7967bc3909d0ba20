"""Controls of media."""
