# SPDX-License-Identifier: MIT
"""What serve tells of a look, read back by the client library's own parsers."""

from __future__ import annotations

from collections.abc import Iterator

from counter_page_bytes import make_page, parse, put, table_at
from heapwright.live.layout import FIELDS
from heapwright.live.page import HeapFigures
from heapwright.model.native import counters_bin_of
from heapwright.serve import metrics
from heapwright.serve.watch import Look, Seen
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition, parser
from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, ...], float]


class Found:
    """A collector of one look."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def collect(self) -> Iterator[metrics.Family]:
        return metrics.families(self._look)


def samples_of(look: Look) -> Samples:
    """By name and label values, pid and program left out; from both text formats, which have to agree."""
    registry = CollectorRegistry()
    registry.register(Found(look))  # type: ignore[arg-type]
    read: list[Samples] = []
    for text, parsing in (
        (exposition.generate_latest(registry).decode(), parser.text_string_to_metric_families),
        (generate_latest(registry).decode(), text_string_to_metric_families),
    ):
        found: Samples = {}
        for family in parsing(text):
            for sample in family.samples:
                key = (sample.name, *(v for k, v in sample.labels.items() if k not in ("pid", "program")))
                assert key not in found or len(look.processes) > 1
                found[key] = sample.value
        read.append(found)
    assert read[0].keys() == read[1].keys()
    return read[0]


def seen_of(page: bytearray, generation: int = 0, heap: HeapFigures | None = None) -> Seen:
    return Seen(1234, "shop", generation, 9_000_000, parse(bytes(page)).calls, heap)


def busy_page() -> bytearray:
    """10 malloc, 4 free, 1 realloc without a block; 2100 bytes asked for, 2400 given, 1000 of these back."""
    page = make_page(2)
    put(page, "table", "calls", 10, table_at(0), index=0)
    put(page, "table", "calls", 1, table_at(1), index=2)
    put(page, "table", "calls", 4, table_at(1), index=5)
    for field, value in (
        ("realloc_made", 1),
        ("requested_bytes", 2100),
        ("usable_bytes", 2400),
        ("released_bytes", 1000),
        ("threads_begun", 2),
        ("threads_ended", 1),
        ("failed", 3),
    ):
        put(page, "table", field, value, table_at(1))
    for size, count in ((15, 2), (16, 3), (63, 1), (64, 5)):
        put(page, "table", "sizes", count, table_at(0), index=counters_bin_of(size))
    at = table_at(0) + FIELDS["table"]["making"][0]
    for ns, count in ((15, 1), (16, 1), (300, 2)):
        put(page, "timings", "bins", count, at, index=counters_bin_of(ns))
    put(page, "timings", "ns", 631, at)
    put(page, "timings", "calls", 4, at)
    return page
