"""Runs the benchmarks that were named, or all of them."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import bench

_PREFIX = "bench_"


def main(wanted: list[str]) -> int:
    known = sorted(
        module.name.removeprefix(_PREFIX)
        for module in pkgutil.iter_modules(bench.__path__)
        if module.name.startswith(_PREFIX)
    )
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in wanted or known:
        for table in importlib.import_module(f"bench.{_PREFIX}{name}").run():
            print(f"{table}\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
