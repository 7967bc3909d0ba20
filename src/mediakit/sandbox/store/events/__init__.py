"""Events, deliveries, their receivers and the secrets that sign them (spec 3.2, 6).

It depends on the database of the store.
"""
