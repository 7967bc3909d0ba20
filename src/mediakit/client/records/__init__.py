"""What a client knows of its account: orders, budgets, job states, and their history.

It depends on `runtime` and is the only room that reads and writes the history's store.
"""
