"""Words, callbacks and cards that every widget uses."""
