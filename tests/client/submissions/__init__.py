"""Tests of submitting once: admission, concurrency, budgets and retries."""
