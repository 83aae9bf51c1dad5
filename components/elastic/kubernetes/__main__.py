"""`python3 -m elastic.kubernetes`."""

import logging
from typing import cast

from ..fleets import fleet
from .cluster import Cluster
from .program import FleetPort, run

logging.basicConfig(level=logging.INFO, format="%(message)s")
# A target that has such pools has an adapter that tells hosts how to join.
run(Cluster(), lambda table: cast("FleetPort", fleet(table, keeps=False)))
