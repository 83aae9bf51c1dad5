"""The table of all kinds that the provider serves."""

from typing import Any

from ..aws.machine_image import MachineImage
from ..aws.nodes import Nodes
from ..aws.site import Site as AwsSite
from ..finish.acceptance import Acceptance
from ..finish.group import Group
from ..local.balancer import Balancer
from ..local.elastic.pool import ElasticPool
from ..local.folder import Folder
from ..local.image import Image
from ..local.network import Network
from ..local.pool import HostPool
from ..local.site import Site
from ..secret.secret import Secret
from .kind import Kind


def kinds() -> tuple[Kind[Any], ...]:
    return (Site(), Network(), Folder(), Image(), HostPool(), ElasticPool(), Balancer(), AwsSite(), MachineImage(), Nodes(), Secret(), Group(), Acceptance())
