"""Files from the browser, and paths that complete."""
