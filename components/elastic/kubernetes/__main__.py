"""`python3 -m elastic.kubernetes`."""

import logging

from ..fleets import local
from .cluster import Cluster
from .program import run

logging.basicConfig(level=logging.INFO, format="%(message)s")
run(Cluster(), local.Local)
