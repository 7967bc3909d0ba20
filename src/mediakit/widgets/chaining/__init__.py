"""Results as inputs: chosen from the history, or taken on from a job's card."""
