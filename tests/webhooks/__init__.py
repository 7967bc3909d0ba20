"""Verifying, receiving and keeping webhooks."""
