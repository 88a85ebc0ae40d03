"""Benchmarks: ``python -m bench [names]``. They print times and ratios and assert nothing.

A benchmark is a module ``bench_<name>.py`` with a function ``run()`` that yields tables of
``harness``. Every time stands beside a baseline that was measured in the same run, so that results
of different machines can be compared by their ratios.
"""

import os

# Lance tells of every dataset that it creates.
os.environ.setdefault("LANCE_LOG", "error")
