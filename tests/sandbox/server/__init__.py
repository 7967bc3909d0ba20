"""Starting, serving and stopping."""
