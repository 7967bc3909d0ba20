"""Sample jobs of the past."""
