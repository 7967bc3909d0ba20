"""Uploads of any size from the browser.

This room makes no widgets and depends on `media`.
"""
