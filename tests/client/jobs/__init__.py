"""Polling, and what is known of a job."""
