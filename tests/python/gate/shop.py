# SPDX-License-Identifier: MIT
"""A recording whose figures are known by hand, for budgets."""

from __future__ import annotations

from pathlib import Path

from written_traces import FREE, MALLOC, MadeTrace


def shop(rows: int = 10, cached: int = 2, threads: int = 2) -> MadeTrace:
    """parse (server+0x1000) asks for `rows` blocks of 100 bytes, one at a time, in thread "worker" when there are
    two threads; cache (libcache.so+0x1000) keeps `cached` blocks of 1000 bytes; main (server+0x3000) nothing."""
    made = MadeTrace()
    made.meta("program", "/opt/shop/server").meta("command", "/opt/shop/server").meta(
        "allocator", "glibc 2.36"
    )
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/shop/server", "aa")
    made.line("module", 0x600000, 0x700000, 0x600000, "/opt/shop/libcache.so", "bb")
    for number, name in enumerate(["server", "worker"][:threads]):
        made.line("thread", number, 100 + number, name, 0, 0)
    for pc, module in ((0x403000, 0), (0x401000, 0), (0x601000, 1)):
        made.line("frame", pc, module)
    for parent, frame in ((0, 0), (1, 1), (1, 2)):
        made.line("stack", parent, frame)
    for number in range(rows):
        made.event(MALLOC, 0x10000 + 4096 * number, 100, stack=2, thread=threads - 1)
        made.event(FREE, 0x10000 + 4096 * number, thread=threads - 1)
    for number in range(cached):
        made.event(MALLOC, 0x900000 + 4096 * number, 1000, stack=3)
    made.line("memory", 2000, 8_000_000).line("memory", 4000, 6_000_000)
    return made


def written(folder: Path, made: MadeTrace | None = None) -> str:
    return str((made or shop()).write(folder / "shop.heapwright"))


def budget(folder: Path, text: str) -> str:
    path = folder / "heap.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)
