"""The form of a model function: its fields, its price, Generate, and its jobs.

The form depends on the controls of fields and the views of jobs. The form's state is
pure and tested on its own.
"""
