"""A whole media service on this machine: real HTTP, real files, no account."""
