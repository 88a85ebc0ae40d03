"""Runs the benchmarks that were named, or all of them; ``writes.load`` is a part of one."""

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
    unknown = [name for name in wanted if name.partition(".")[0] not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in wanted or known:
        module, _, part = name.partition(".")
        run = importlib.import_module(f"bench.{_PREFIX}{module}").run
        for table in run(part) if part else run():
            print(f"{table}\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
