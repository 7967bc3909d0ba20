"""The price of a form, and the funds that must cover it.

It depends on the toolkit and on the account; figures are pure, and one bar shows them.
"""
