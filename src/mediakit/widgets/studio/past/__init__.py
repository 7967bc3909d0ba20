"""The tab with the history: rows that are searched, opened and selected."""
