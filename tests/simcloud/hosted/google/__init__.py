"""Instances of the simulated Google Cloud that are hosts of this machine."""
