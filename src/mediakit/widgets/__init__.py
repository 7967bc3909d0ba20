"""Forms, jobs, walls and reports in a notebook, as widgets and static cards.

They depend on the client and the plots. No room imports a higher one, and the state of
a widget is separate from the widget.
"""
