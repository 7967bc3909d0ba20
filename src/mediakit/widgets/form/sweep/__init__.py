"""Sweeps in a form: fields with several values, and the sweep over all combinations.

It depends on the form's state and on the plans of sweeps.
"""
