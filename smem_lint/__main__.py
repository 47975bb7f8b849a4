"""``python -m smem_lint``."""

import sys

from smem_lint.cli import main

if __name__ == "__main__":
    sys.exit(main())
