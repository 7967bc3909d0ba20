"""Drafts of forms in the history, which outlive the kernel.

It depends on the form's state and on the history.
"""
