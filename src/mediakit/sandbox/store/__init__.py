"""What the sandbox must not lose: jobs, money, uploads, in one SQLite file.

It stands on the sandbox's clock alone. Each change of state is one transaction.
"""
