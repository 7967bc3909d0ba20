"""The dashboard of a month's spend, in the notebook and as an HTML report."""
