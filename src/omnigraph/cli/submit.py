"""Run the command line under ``spark-submit``.

``spark-submit --master yarn $(python -m omnigraph.cli.submit) load g.omni --data … --mode merge``
"""

from __future__ import annotations

import sys

from omnigraph.cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    if len(sys.argv) == 1:
        # A shell asks for the path of this script.
        print(__file__)
    else:
        sys.exit(main())
