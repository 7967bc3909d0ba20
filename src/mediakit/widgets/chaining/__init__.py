"""Results as inputs: chosen from the history, or taken on from a job's card.

It stands on the controls of media and on the menu of a job.
"""
