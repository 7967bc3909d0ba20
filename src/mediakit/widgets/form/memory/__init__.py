"""What a form holds, kept in the history so that it outlives its kernel.

It depends on the form's state and on the history.
"""
