"""One exchange over HTTP and every way it fails."""
