"""Controls that hold other controls."""
