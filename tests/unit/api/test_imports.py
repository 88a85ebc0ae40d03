"""The types of the interface load without the engine, storage or a web framework."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

from omnigraph import api

LIBRARIES = {
    *("pyarrow", "numpy", "pandas", "polars", "networkx", "lance", "obstore", "datafusion"),
    *("pyspark", "starlette", "uvicorn", "msgspec", "httpx", "click", "rich", "cedarpy"),
}
PACKAGES = {
    *("api", "catalog", "datatypes", "errors", "frozen", "ir", "language", "memoized", "ports"),
    "runtime",
}


def test_every_module_loads_without_engine_storage_and_arrow() -> None:
    modules = [each.name for each in pkgutil.iter_modules(api.__path__, "omnigraph.api.")]
    script = f"import sys, {', '.join(modules)}; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert set(modules) <= set(loaded)
    assert not LIBRARIES & set(loaded)
    own = {name.split(".")[1] for name in loaded if name.startswith("omnigraph.")}
    assert own <= PACKAGES, own - PACKAGES
