"""The parts that a running sandbox shares: the service, files and responses.

It depends on the store, the sandbox clock and the scripted faults.
"""
