"""What every part of one running sandbox shares: the service, files and responses.

It stands on the store, the scheduled clock and the scripted faults.
"""
