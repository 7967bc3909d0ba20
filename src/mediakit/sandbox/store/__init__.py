"""What the sandbox must not lose: jobs, money, uploads, in one SQLite file."""
