"""Instances of the simulated cloud that really run: hosts of this machine. README.md of the folder above says what of it is simulated."""
