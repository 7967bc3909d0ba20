"""The form of a model function: its fields, its price, Generate, and its jobs.

It depends on the controls and the job views; its state is pure and is tested alone.
"""
