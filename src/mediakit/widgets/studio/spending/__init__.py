"""The tab with the charges of the last days as a chart."""
