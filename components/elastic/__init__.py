"""Node power: the program on a Slurm controller that starts and stops the nodes of elastic pools.

Standard library only, because it is shipped to controllers; one adapter, `fleets/aws`, uses boto3 besides.
"""
