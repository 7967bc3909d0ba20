"""Deliveries of webhooks as the account sees them."""
