"""The sandbox's clock."""
