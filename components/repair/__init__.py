"""Repairs on hosts: the program that carries them out there, and how it gets there."""
