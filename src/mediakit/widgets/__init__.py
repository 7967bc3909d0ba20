"""What the cell shows: forms and jobs, as widgets and as cards that stay.

It stands on the client; the state of a widget is kept apart from the widget.
"""
