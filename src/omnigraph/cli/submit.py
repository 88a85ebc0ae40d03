"""What ``spark-submit`` starts: the command line, on the Spark that it was submitted to.

``spark-submit --master yarn $(python -m omnigraph.cli.submit) load g.omni --data … --mode merge``
"""

from __future__ import annotations

import sys

from omnigraph.cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    if len(sys.argv) == 1:
        # Asked for by nobody but a shell that wants to know where it is.
        print(__file__)
    else:
        sys.exit(main())
