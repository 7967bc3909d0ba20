"""What a client knows of its account: orders, budgets, job states, and their history.

It depends on `runtime` and alone reads and writes the history's store.
"""
