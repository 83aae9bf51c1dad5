"""Maintenance windows of a cluster with Slurm: reservations that keep jobs out of them. Runs on controllers: standard library only."""
