"""The database: admission, charges, organizations."""
