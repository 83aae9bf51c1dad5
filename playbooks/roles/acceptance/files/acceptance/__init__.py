"""Prove that a cluster delivers what its spec says. Standard library only: it runs on a login host as it is."""
