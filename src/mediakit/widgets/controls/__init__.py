"""From a field to what people change: texts, numbers, choices, lists and JSON.

It depends on the toolkit, and knows no form and no field by its name.
"""
