"""Forms, jobs, walls and reports in a notebook, as widgets and static cards.

The widgets depend on the client and the plots. No package imports a higher package, and
the state of a widget is separate from the widget.
"""
