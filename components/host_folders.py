"""Folders that hosts have on every target, by their paths on the host."""

STATE = "/var/lib/clusterwright/state"
"""Controllers keep here what must survive their disks: the accounting database and Slurm's saved state."""
CLUSTER = "/var/lib/clusterwright/cluster"
"""A controller writes here what all hosts read: the table of users, the table of hosts."""
NAMES = "names/hosts"
"""The table of hosts, below `CLUSTER`. Its folder belongs to Slurm's user, which runs the elastic program."""
