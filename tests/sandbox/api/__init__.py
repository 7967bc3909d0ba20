"""The interface of the service, route by route."""
