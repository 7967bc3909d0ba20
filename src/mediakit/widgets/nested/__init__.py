"""Controls of composite values: objects, variants and lists of objects.

It depends on the base of all controls, and is given what makes those inside.
"""
