# SPDX-License-Identifier: MIT
"""Pretty-printers of the parts for gdb: (gdb) source tools/gdb/heapwright_printers.py"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

# gdb brings these modules; type checkers do not know them.
gdb: Any = import_module("gdb")
printing: Any = import_module("gdb.printing")

Children = Iterator[tuple[str, Any]]


def address(value: Any) -> int:
    return int(value.cast(gdb.lookup_type("unsigned long")))


class FastVector:
    """small_vector and tracked_small_vector: on the heap exactly when capacity > inline capacity."""

    def __init__(self, value: Any) -> None:
        self.element = value.type.template_argument(0)
        room = value["room_"]
        inline = 0
        if any(field.name == "elements" for field in room.type.fields()):
            inline = room["elements"].type.sizeof // self.element.sizeof
        self.size = int(value["header_"]["size"])
        self.capacity = int(value["header_"]["capacity"])
        self.is_inline = self.capacity <= inline
        first = room["elements"].address if self.is_inline and inline else room["heap"]
        self.first = first.cast(self.element.pointer())

    def to_string(self) -> str:
        place = "inline" if self.is_inline else "heap"
        return f"heapwright vector of length {self.size}, capacity {self.capacity} ({place})"

    def children(self) -> Children:
        for index in range(self.size):
            yield f"[{index}]", (self.first + index).dereference()

    def display_hint(self) -> str:
        return "array"


class CompactVector(FastVector):
    """compact_vector: the lowest bit of its 8-byte handle is 1 when the elements are inline."""

    def __init__(self, value: Any) -> None:
        self.element = value.type.template_argument(0)
        room = value["room_"]
        word = int(room.address.cast(gdb.lookup_type("unsigned long").pointer()).dereference())
        self.is_inline = word & 1 == 1
        unit = max(self.element.alignof, 8)
        if self.is_inline:
            self.size = (word & 0xFF) >> 1
            offset = max(1, self.element.alignof)
            count = int(value.type.template_argument(1))
            self.capacity = min((room.type.sizeof - offset) // self.element.sizeof, 127) if count else 0
            start = address(room.address) + offset
        else:
            counts = gdb.Value(word).cast(gdb.lookup_type("unsigned int").pointer())
            self.size = int(counts[0])
            self.capacity = int(counts[1])
            start = word + unit
        self.first = gdb.Value(start).cast(self.element.pointer())


class Arena:
    def __init__(self, value: Any) -> None:
        self.value = value

    def to_string(self) -> str:
        requested, held = (int(self.value[name]) for name in ("requested_", "retained_"))
        return f"heapwright arena, {requested} bytes requested, {held} held"


class ObjectPool:
    def __init__(self, value: Any) -> None:
        self.value = value

    def to_string(self) -> str:
        start, end = (self.value["idle_"]["_M_impl"][name] for name in ("_M_start", "_M_finish"))
        return (
            f"heapwright object_pool, {int(end - start)} idle, {int(self.value['outstanding_'])} outstanding"
        )


class BufferCache:
    def __init__(self, value: Any) -> None:
        self.counters = value["store_"]["policy_"]["counters_"]

    def to_string(self) -> str:
        named = {name: int(self.counters[name]) for name in ("hits", "misses", "retained_bytes")}
        return "heapwright buffer_cache, " + ", ".join(f"{count} {name}" for name, count in named.items())


def build() -> Any:
    printers = printing.RegexpCollectionPrettyPrinter("heapwright")
    printers.add_printer("small_vector", r"^heapwright::(?:\w+::)?(tracked_)?small_vector<", FastVector)
    printers.add_printer("compact_vector", r"^heapwright::(?:\w+::)?compact_vector<", CompactVector)
    printers.add_printer("arena", r"^heapwright::(?:\w+::)?arena$", Arena)
    printers.add_printer("object_pool", r"^heapwright::(?:\w+::)?object_pool<", ObjectPool)
    printers.add_printer(
        "buffer_cache",
        r"^heapwright::(?:\w+::)?buffer_cache<heapwright::(?:\w+::)?learnt_cutoff>$",
        BufferCache,
    )
    return printers


printing.register_pretty_printer(None, build(), replace=True)
