"""What a form holds, kept in the history so that it outlives its kernel.

It stands on the form's state and on the history.
"""
