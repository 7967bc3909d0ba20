"""Controls: one for each kind of field: texts, numbers, choices, lists and JSON.

It depends on the toolkit, and knows no form and no field by its name.
"""
