# SPDX-License-Identifier: MIT
"""Writes a trace in the formats of other tools: one module per format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from heapwright.export import dhat, folded, otlp, perfetto, pprof, speedscope
from heapwright.export.parquet import FILTERED_TABLES, write_table
from heapwright.export.stacks import MEASURES, Source

Write = Callable[[Source, BinaryIO, str], None]


@dataclass(frozen=True)
class Format:
    """A format: how to write it, its measures ("" = all), and what opens it.

    unsampled: why it cannot be written from samples; "" = it can. wants_activity: needs facts by time bin.
    """

    suffix: str
    write: Write | None
    measures: tuple[str, ...]
    default_measure: str
    opened_by: str
    timeline_points: int = 512
    slowest_calls: int = 32
    unsampled: str = ""
    wants_activity: bool = False


FORMATS: dict[str, Format] = {
    "parquet": Format(".parquet", None, (), "", "duckdb -c \"select * from '{}' limit 5\""),
    "pprof": Format(".pb.gz", pprof.write, pprof.MEASURES, "", "go tool pprof -top {}"),
    "otlp": Format(
        ".otlp",
        otlp.write,
        (),
        "",
        "curl --data-binary @{} -H 'Content-Type: application/x-protobuf' "
        "http://localhost:4318/v1development/profiles",
    ),
    "dhat": Format(
        ".dhat.json",
        dhat.write,
        (),
        "",
        "open {} in valgrind's dh_view.html",
        unsampled="they do not have the peak of each stack",
    ),
    "folded": Format(".folded", folded.write, tuple(MEASURES), "bytes", "flamegraph.pl {} > flames.svg"),
    "speedscope": Format(".speedscope.json", speedscope.write, tuple(MEASURES), "", "speedscope {}"),
    "perfetto": Format(
        ".pftrace",
        perfetto.write,
        (),
        "",
        "open {} in https://ui.perfetto.dev",
        perfetto.TIMELINE_POINTS,
        perfetto.SLOWEST_CALLS,
        wants_activity=True,
    ),
}

__all__ = ["FILTERED_TABLES", "FORMATS", "MEASURES", "Format", "Source", "write_table"]
