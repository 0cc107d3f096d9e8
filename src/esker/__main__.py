"""`python -m esker` is the `esker` command."""

import sys

from esker.cli import main

sys.exit(main())
