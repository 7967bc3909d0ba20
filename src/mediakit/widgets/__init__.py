"""What the cell shows: forms and jobs, as widgets and as cards that stay."""
