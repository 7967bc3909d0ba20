"""Fields of a form that turn into lists, and the sweep over their combinations.

It depends on the form's state and on the plans of sweeps.
"""
