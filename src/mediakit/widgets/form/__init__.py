"""The form of a model function: its fields, its price, Generate, and its jobs.

It depends on the controls of fields and the views of jobs. Its state is pure and tested
on its own.
"""
