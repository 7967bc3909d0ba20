"""Sending once: admission, concurrency, budgets, retries."""
