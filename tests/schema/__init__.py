"""Fields and the rules between them."""
