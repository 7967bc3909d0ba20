"""What was spent: reports, totals and what agrees with what."""
