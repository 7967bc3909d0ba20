"""What people do with a result: read its facts, download it, compare it.

It depends on the text of jobs and on the player; the job view uses it.
"""
