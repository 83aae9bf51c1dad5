"""`python3 -m elastic COMMAND`."""

import sys

from .cli import main

sys.exit(main())
