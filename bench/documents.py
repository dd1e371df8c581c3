# SPDX-License-Identifier: MIT
"""What every render.py does with the document it made.

Without options prints it; --write writes it; --check fails when it and the
results disagree.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sources import said as said

project = Path(__file__).resolve().parents[1]


def read(name: str) -> dict[str, Any]:
    """bench/results/NAME.json."""
    found: dict[str, Any] = json.loads((project / f"bench/results/{name}.json").read_text(encoding="utf-8"))
    return found


def figures_of(name: str) -> str:
    """The mark of a document's figures: where they are from."""
    return f"<!-- figures: bench/results/{name}.json -->"


def machine_of(result: Mapping[str, Any]) -> str:
    """What it was measured on, and how busy that was."""
    machine = result["machine"]
    virtual = " (virtual)" if machine["is_virtual"] else ""
    return (
        f"{machine['cpu']}{virtual}, {machine['cpus']} CPUs, {machine['libc']}, "
        f"load average {machine['load_average']}"
    )


def load_of(loads: Sequence[float], cpus: int) -> tuple[str, str]:
    """Least and most, and whether others used the machine as well."""
    beside = ": other work ran beside it" if max(loads) > cpus + 1 else ""
    return f"load average {min(loads):.1f} to {max(loads):.1f}", beside


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
    return between(text, f"<!-- {name}: begin -->", f"<!-- {name}: end -->", results)


def with_figures(text: str, name: str, results: str) -> str:
    """The text with other figures below their mark."""
    return between(text, figures_of(name), "<!-- /figures -->", results)


def between(text: str, begin: str, end: str, results: str) -> str:
    """The text with other results between these marks."""
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{results}\n{end}{after}"
