"""Pictures, clips and sounds."""
