"""Files on their way: uploads under grants, downloads that resume, and their sidecars.

It stands on `http` and `records`.
"""
