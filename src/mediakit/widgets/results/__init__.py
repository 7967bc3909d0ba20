"""What people do with a result: read its facts, download it, compare it, erase it.

It stands on the words of jobs; the job view uses it.
"""
