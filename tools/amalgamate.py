#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes one part with all of its own headers as a single file.

tools/amalgamate.py small_vector.hpp > small_vector.hpp
"""

import argparse
import re
import sys
from pathlib import Path

include = Path(__file__).resolve().parents[1] / "include"
own_include = re.compile(r'#include "(heapwright/[^"]+)"')


def lines_of(name: str, seen: set[str]) -> list[str]:
    """The header's lines, with each of our headers in place of its first #include.

    Within an #if it may be absent: then it stands at the next #include as well, behind its guard.
    """
    if name in seen:
        return []
    seen.add(name)
    lines: list[str] = []
    depth = 0
    for line in (include / name).read_text(encoding="utf-8").splitlines():
        depth += len(re.findall(r"^#if", line)) - len(re.findall(r"^#endif", line))
        found = own_include.match(line)
        if found:
            is_always = depth == 1  # the guard
            lines += lines_of(found.group(1), seen if is_always else set(seen))
        elif not (lines and line.startswith("// SPDX")):
            lines.append(line)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("header", help="a header of include/heapwright/, for instance small_vector.hpp")
    name = "heapwright/" + parser.parse_args().header
    if not (include / name).is_file():
        print(f"{name} is no header of {include}", file=sys.stderr)
        return 2
    print("// One file made of several by tools/amalgamate.py; do not edit.")
    print("\n".join(lines_of(name, set())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
