"""What a client knows of its account: submissions, budgets and job states.

It depends on `runtime` and alone reads and writes the history's store.
"""
