"""Measurements of what the project promises; `make bench` runs them."""
