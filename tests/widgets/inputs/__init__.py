"""Results and masks as inputs."""
