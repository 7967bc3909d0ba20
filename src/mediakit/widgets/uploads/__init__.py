"""Files from the browser, of any size, and paths that complete as people type."""
