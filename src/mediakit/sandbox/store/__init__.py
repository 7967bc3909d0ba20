"""The durable state of the sandbox: jobs, money and uploads, in one SQLite file.

The store depends only on the sandbox's clock. Each change of state is one transaction.
"""
