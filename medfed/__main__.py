"""`python -m medfed` is the `medfed` command."""

import sys

from medfed.cli.main import main

sys.exit(main())
