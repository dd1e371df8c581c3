# SPDX-License-Identifier: MIT
"""The schemas of the commands' JSON output: `python -m heapwright.cli.schemas FOLDER` writes them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from heapwright.cli import info_schema, output_schemas
from heapwright.compare import schema as compare
from heapwright.compare.moments import schema as compare_moments
from heapwright.compare.replays import schema as compare_replays
from heapwright.explain import brief_schema
from heapwright.explain import schema as explain
from heapwright.gate import schema as gate
from heapwright.lint import schema as lint
from heapwright.live import schema as live
from heapwright.replay import schema as replay
from heapwright.report.schema import Schema
from heapwright.trial import schema as trial

SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "brief": brief_schema.schema,
    "compare": compare.schema,
    "compare-moments": compare_moments.schema,
    "compare-replays": compare_replays.schema,
    "count": live.count_schema,
    "explain": explain.schema,
    "gate": gate.schema,
    "info": info_schema.schema,
    "lint": lint.schema,
    "replay": replay.schema,
    "top": live.top_schema,
    "try": trial.schema,
    **{name: partial(output_schemas.schema, name) for name in output_schemas.DOCUMENTS},
}


def of(name: str) -> Schema:
    """The schema with this name."""
    return SCHEMAS[name]()


def write(folder: Path) -> None:
    """Writes all of them: NAME-1.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in SCHEMAS:
        text = json.dumps(of(name), indent=1) + "\n"
        (folder / f"{name}-1.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("which folder? python -m heapwright.cli.schemas FOLDER")
    write(Path(sys.argv[1]))
