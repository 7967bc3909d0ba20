"""The routes of the interface: jobs, uploads, billing, webhooks and their description.

Each one reads a request, asks the jobs, the deliveries or the store, and answers. It
stands on those rooms and on `core`; nothing here is known to them.
"""
