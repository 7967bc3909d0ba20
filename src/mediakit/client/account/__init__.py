"""What the service tells of an account: billing, and the log of webhook deliveries.

It stands on `http`.
"""
