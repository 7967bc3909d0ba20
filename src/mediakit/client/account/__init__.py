"""What the service reports about an account: billing, and webhook deliveries.

It depends on `http`.
"""
