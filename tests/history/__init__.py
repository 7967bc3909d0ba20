"""The history alone, without a client."""
