# SPDX-License-Identifier: MIT
"""What every render.py does with the document it made.

Without options prints it; --write writes it; --check fails when it and the
results disagree.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

project = Path(__file__).resolve().parents[1]


def give(document: Path, text: str) -> int:
    """Reads the options of the command line; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.write:
        document.write_text(text, encoding="utf-8")
    elif options.check:
        if not document.exists() or document.read_text(encoding="utf-8") != text:
            script = Path(sys.argv[0]).resolve().relative_to(project)
            print(f"{document.relative_to(project)} disagrees with the results: run {script} --write")
            return 1
    else:
        print(text, end="")
    return 0


def give_results(document: Path, results: str, name: str = "results") -> int:
    """The same for a document written by hand, whose results stand between two marks of this name."""
    return give(document, with_results(document.read_text(encoding="utf-8"), results, name))


def with_results(text: str, results: str, name: str) -> str:
    """The text with other results between the marks of this name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{results}\n{end}{after}"
