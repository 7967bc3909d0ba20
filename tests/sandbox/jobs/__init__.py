"""Running a job: inputs, prices, rendering, retention."""
