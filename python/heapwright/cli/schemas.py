# SPDX-License-Identifier: MIT
"""`python -m heapwright.cli.schemas` writes the schemas of the commands' JSON output."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from heapwright.cli import info_schema, output_schemas
from heapwright.compare import schema as compare
from heapwright.compare.replays import schema as compare_replays
from heapwright.explain import brief_schema
from heapwright.explain import schema as explain
from heapwright.gate import schema as gate
from heapwright.lint import schema as lint
from heapwright.live import schema as live
from heapwright.replay import schema as replay
from heapwright.report.schema import Schema

FOLDER = Path(__file__).parent.parent / "schemas"
SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "brief": brief_schema.schema,
    "compare": compare.schema,
    "compare-replays": compare_replays.schema,
    "count": live.count_schema,
    "explain": explain.schema,
    "gate": gate.schema,
    "info": info_schema.schema,
    "lint": lint.schema,
    "replay": replay.schema,
    "top": live.top_schema,
    **{name: partial(output_schemas.schema, name) for name in output_schemas.DOCUMENTS},
}


def kept(name: str) -> Path:
    """Path of the schema file."""
    return FOLDER / f"{name}-1.json"


def as_text(name: str) -> str:
    """The schema as stored."""
    return json.dumps(SCHEMAS[name](), indent=1) + "\n"


if __name__ == "__main__":
    for name in SCHEMAS:
        kept(name).write_text(as_text(name), encoding="utf-8")
