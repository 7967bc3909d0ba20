"""The database: admission, money, organizations."""
