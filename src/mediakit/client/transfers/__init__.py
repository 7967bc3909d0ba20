"""Files on their way: uploads under grants, downloads that resume, and their sidecars.

It depends on `http` and `records`.
"""
