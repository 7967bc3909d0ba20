"""The routes of the interface: jobs, uploads, billing, webhooks and their description.

Each handler reads a request, calls `jobs`, `delivery` or `store`, and responds. This
room depends on those rooms and on `core`; none of them depends on it.
"""
