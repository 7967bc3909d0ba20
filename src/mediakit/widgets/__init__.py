"""What the cell shows: forms and jobs, as widgets and as cards that stay.

It depends on the client and on the plots, and no room in it imports a higher one;
the state of a widget is kept apart from the widget.
"""
