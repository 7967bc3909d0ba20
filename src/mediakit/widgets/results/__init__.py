"""What people do with a result: read its facts, download it, compare it, erase it."""
