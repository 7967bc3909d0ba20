"""Further uses of a result: the functions that accept it, and their forms.

It depends on the text of jobs; who shows the menu hands in what opens a form.
"""
