"""The functions that take a job's result, and the menu that opens their forms.

It depends on the text of jobs; who shows the menu hands in what opens a form.
"""
