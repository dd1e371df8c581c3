# SPDX-License-Identifier: MIT
"""The tables of a fleet: their columns and types, and the files that hold them."""

from __future__ import annotations

from typing import Any

from heapwright.model import extras

# Column types, needed for files without rows. int64 or string unless listed here.
TEXTS = (
    "host",
    "program",
    "allocator",
    "function",
    "file",
    "library",
    "kind",
    "rule",
    "action",
    "name",
    "what",
    "replay",
    "judged",
)
NUMBERS = ("growth_bytes_per_s",)
FLAGS = ("is_whole", "is_sampled", "is_least")
COLUMNS = {
    "process": (
        "host", "process", "started_unix_ns", "run_ns", "program", "allocator", "is_whole", "is_sampled",
        "allocations", "bytes", "allocator_ns", "peak_bytes", "slack_bytes", "left_bytes", "resident_bytes",
        "free_bytes", "growth_bytes_per_s",
    ),
    "site": (
        "host", "process", "started_unix_ns", "run_ns", "function", "file", "line", "library", "allocations",
        "bytes", "allocator_ns", "peak_bytes", "left_bytes", "growth_bytes_per_s", "kind",
    ),
    "saving": (
        "host", "process", "started_unix_ns", "rule", "action", "name", "gain_bytes", "gain_ns", "is_least",
    ),
    "remedy": (
        "host", "process", "started_unix_ns", "kind", "what", "replay", "judged", "measured_bytes",
        "measured_ns", "bound_bytes", "bound_ns",
    ),
}  # fmt: skip
# Recordings that an older version exported have no rows of these.
ADDED = ("remedy",)
# Columns that are in the paths, and the files below the folder of a table.
PARTS = ("service", "version", "date")
FILES = "/".join(f"{part}=*" for part in PARTS) + "/*.parquet"


def arrow_schema(table: str) -> Any:
    """The types of a table's columns."""
    arrow, _ = extras.pyarrow()
    kinds = dict.fromkeys(TEXTS, arrow.string()) | dict.fromkeys(NUMBERS, arrow.float64())
    kinds |= dict.fromkeys(FLAGS, arrow.bool_())
    return arrow.schema([(name, kinds.get(name, arrow.int64())) for name in COLUMNS[table]])
