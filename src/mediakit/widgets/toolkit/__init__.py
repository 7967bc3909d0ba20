"""What every widget is made with: callbacks, tasks, outputs, style and names.

It depends on the I/O thread alone, and imports no other room.
"""
