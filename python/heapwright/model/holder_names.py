# SPDX-License-Identifier: MIT
"""Who holds blocks, in words."""

from __future__ import annotations

# By number, as trace::RootKind; and what no single holder retains.
KINDS = ("variable", "stack", "registers", "thread-local", "mapping", "older blocks", "young", "several")
VARIABLE, STACK, REGISTERS, THREAD_LOCAL, MAPPING, OLDER, YOUNG, SEVERAL = range(len(KINDS))
OF_THREADS = (STACK, REGISTERS, THREAD_LOCAL)


def name_of(kind: int, thread_id: int, module: str, symbol: str) -> str:
    """A holder in words."""
    library = module.rpartition("/")[2]
    if kind == VARIABLE:
        return f"{symbol} of {library}" if symbol else f"a variable of {library}"
    if kind == MAPPING:
        return f"the mapping {library}" if library else "memory that the program mapped"
    if kind == STACK and symbol:
        return f"{symbol} on the stack of thread {thread_id}"
    named = {
        SEVERAL: "several holders together",
        OLDER: "blocks that the recording does not have",
        YOUNG: "a call that was under way",
    }
    return named.get(kind) or f"{KINDS[kind]} of thread {thread_id}"
