"""The admin door."""
