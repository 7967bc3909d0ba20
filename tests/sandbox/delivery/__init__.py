"""Webhooks that the sandbox sends."""
