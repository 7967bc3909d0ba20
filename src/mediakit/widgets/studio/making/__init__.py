"""The tab in which functions are found and used."""
