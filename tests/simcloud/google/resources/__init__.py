"""The rules of each service."""
