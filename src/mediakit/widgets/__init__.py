"""Forms, jobs, walls and reports in a notebook, as widgets and static cards.

It depends on the client and on the plots, and no room in it imports a higher one;
the state of a widget is kept apart from the widget.
"""
