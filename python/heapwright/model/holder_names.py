# SPDX-License-Identifier: MIT
"""Who holds blocks, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heapwright.model.facts.held import Held, HeldWay, Holder

# By number, as trace::RootKind; and what no single holder retains.
KINDS = (
    "variable", "stack", "registers", "thread-local", "mapping", "older blocks", "young", "moving", "several",
)  # fmt: skip
# Of memory that the program did not name.
_NAMED_BY_THE_KERNEL = ("anon_hugepage (deleted)", "zero (deleted)")
VARIABLE, STACK, REGISTERS, THREAD_LOCAL, MAPPING, OLDER, YOUNG, MOVING, SEVERAL = range(len(KINDS))


def name_of(kind: int, thread_id: int, module: str, symbol: str) -> str:
    """A holder in words; thread_id: 0 = of any thread."""
    library = module.rpartition("/")[2]
    thread = f"thread {thread_id}" if thread_id else "any thread"
    if kind == VARIABLE:
        return f"{symbol} of {library}" if symbol else f"a variable of {library}"
    if kind == MAPPING:
        if library and library not in _NAMED_BY_THE_KERNEL:
            return f"the mapping {library}{f', of {symbol}' if symbol else ''}"
        return f"memory mapped by {symbol}" if symbol else "memory that the program mapped"
    if kind == THREAD_LOCAL and symbol:
        return f"{symbol} of {thread}"
    if kind == THREAD_LOCAL and library:
        return f"a thread-local variable of {library}, {thread}"
    if kind == STACK and (symbol or library):
        return f"{symbol or f'a function of {library}'} on the stack of {thread}"
    named = {
        SEVERAL: "several holders together",
        OLDER: "blocks that the recording does not have",
        YOUNG: "a call that was under way",
        MOVING: "a pointer that moved meanwhile",
    }
    return named.get(kind) or f"{KINDS[kind]} of {thread}"


def renamed(
    held: Held,
    library: Callable[[str], str],
    symbol: Callable[[Holder | HeldWay], str],
    type_: Callable[[str], str],
) -> Held:
    """A snapshot with these instead of its names."""
    return held._replace(
        types=tuple(map(type_, held.types)),
        holders=tuple(one._replace(module=library(one.module), symbol=symbol(one)) for one in held.holders),
        ways=tuple(one._replace(module=library(one.module), symbol=symbol(one)) for one in held.ways),
    )
