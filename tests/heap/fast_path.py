#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what malloc and free execute when nothing has to be done but that.

Follows each entry point of libheapwright.so from its first instruction to the
first `ret`, no branch taken: a size up to 4 KiB with a block in the current slab, a block of
the calling thread. More than the golden numbers fails; fewer asks to lower
them. The counters have no switch at compile time and no line on this path, so
these are the numbers with and without them.
"""

import re
import subprocess
import sys

# Written down from GCC 12, x86-64, -O2.
GOLDEN = {
    "malloc": {"instructions": 23, "branches": 2, "loads": 9, "stores": 3},
    "free": {"instructions": 34, "branches": 5, "loads": 11, "stores": 3},
}
# operator new(size_t), operator delete(void*) and the same with a size.
GOLDEN |= {"_Znwm": GOLDEN["malloc"], "_ZdlPv": GOLDEN["free"], "_ZdlPvm": GOLDEN["free"]}
LINE = re.compile(r"^\s+[0-9a-f]+:\s+(\S+)\s*(.*)$")
MEMORY = re.compile(r"(%fs:)?(-?0x[0-9a-f]+)?\(")


def disassemble(library: str, function: str) -> list[tuple[str, str]]:
    command = ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", library]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = [match.groups() for match in map(LINE.match, text.splitlines()) if match]
    return [(name, operands.split("#")[0].strip()) for name, operands in found]


def split_operands(operands: str) -> list[str]:
    return re.split(r",(?![^(]*\))", operands) if operands else []


def count(instructions: list[tuple[str, str]]) -> dict[str, int]:
    counted = {"instructions": 0, "branches": 0, "loads": 0, "stores": 0}
    for name, operands in instructions:
        counted["instructions"] += 1
        if name.startswith("ret"):
            return counted
        if name.startswith("jmp"):
            raise SystemExit(f"the fast path jumps: {name} {operands}")
        if name.startswith("j"):
            counted["branches"] += 1
            continue
        if name.startswith(("lea", "nop")):
            continue
        parts = split_operands(operands)
        is_store = bool(parts) and bool(MEMORY.search(parts[-1])) and not name.startswith(("cmp", "test"))
        is_load = any(MEMORY.search(part) for part in (parts if not is_store else parts[:-1]))
        is_update = is_store and not name.startswith("mov")
        counted["loads"] += is_load or is_update
        counted["stores"] += is_store
    raise SystemExit("no ret on the fast path")


def main() -> int:
    failed = 0
    for function, golden in GOLDEN.items():
        counted = count(disassemble(sys.argv[1], function))
        print(f"{function}: {counted}")
        if counted != golden:
            failed += 1
            print(f"{function}: golden is {golden}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
