"""`python -m components.local.elastic STACK`: the service of one stack."""

import sys

from ..machine.names import StackNames
from .service import serve

serve(StackNames(sys.argv[1]))
