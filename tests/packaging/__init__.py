"""The project itself: its rooms, documents, notebooks and installation."""
