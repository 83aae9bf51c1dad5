"""Acceptance on demand: run it between two `up`s, and keep what it found."""
