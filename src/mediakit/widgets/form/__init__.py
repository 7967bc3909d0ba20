"""The form of a model function: its fields, its price, Generate, and its jobs.

It depends on the values of fields and on the views of jobs; its state is pure and is
tested alone.
"""
