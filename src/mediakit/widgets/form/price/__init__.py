"""What a form costs beside what can be spent.

It depends on the toolkit and on the account; figures are pure, and one bar shows them.
"""
