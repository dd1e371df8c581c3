#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Are causes found from explain --json --brief alone?

Builds and records the programs of bench/agents/programs, each with one planted cause or none, and
tests/programs/advice as they are and with their advice followed. decide.py gets the brief document of each
and nothing else. OUTPUT/agents.json keeps what it named.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from heapwright.explain.advice import RULES
from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path += [str(project / "bench"), str(Path(__file__).parent)]
import decide  # noqa: E402
import sources  # noqa: E402

# By program: the cause, and the function that it is in. Written before they were recorded.
PLANTED = {
    "channels": ("untouched_tails", "open_channel"),
    "decoder": ("creep", "decode"),
    "digests": ("pinned", "make_digest"),
    "documents": ("arena", "parse_expression"),
    "generations": ("deferred_free", "load_routes"),
    "lookup": ("reused_buffer", "find_user"),
    "meshes": ("small_vector", "link"),
    "outlines": ("reserve", "trace_outline"),
    "registry": ("leak", "Registry::note"),
    "scene": ("make_shared", "load_node"),
    "sieve": ("", ""),
    "words": ("", ""),
}
ENVIRONMENT = {("setting", "as_is"): {"MALLOC_MMAP_THRESHOLD_": "65536"}}


class Asked:
    """Records and asks in a folder of its own."""

    def __init__(self, command: Path, folder: Path) -> None:
        self.command = command
        self.folder = folder

    def __call__(
        self, program: Path, *words: str, environment: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """The sizes of both documents, and the causes named."""
        trace = self.folder / "trace.heapwright"
        line = [self.command, "record", "--force", "-o", trace, "--", program, *words]
        subprocess.run(
            line, check=True, capture_output=True, timeout=300, env={**os.environ, **(environment or {})}
        )
        whole, brief = (self._explained(trace, *options) for options in ((), ("--brief",)))
        return {
            "document_bytes": len(whole),
            "brief_bytes": len(brief),
            "causes": [cause._asdict() for cause in decide.causes(json.loads(brief))],
        }

    def _explained(self, trace: Path, *options: str) -> bytes:
        line = [self.command, "explain", trace, "--json", *options]
        return subprocess.run(line, check=True, capture_output=True, timeout=300).stdout


def planted(asked: Asked, runs: int) -> list[dict[str, Any]]:
    """Programs made for this, each recorded so often."""
    rows = []
    for name, (cause, function) in PLANTED.items():
        source, program = Path(__file__).parent / f"programs/{name}.cpp", asked.folder / name
        subprocess.run(["c++", "-std=c++20", "-O2", "-g", "-o", program, source], check=True)
        row = {"program": name, "planted": cause, "function": function}
        rows.append({**row, "runs": [asked(program) for _ in range(runs)]})
        print(name, cause, [run["causes"] for run in rows[-1]["runs"]], flush=True)
    return rows


def of_the_rules(asked: Asked, build: Path) -> list[dict[str, Any]]:
    """Those of the advice's own test: the table was not made with them."""
    rows = []
    for rule in sorted(rule.name for rule in RULES):
        for mode in ("as_is", "fixed"):
            program = build / f"programs/advice_{rule}"
            found = asked(program, mode, environment=ENVIRONMENT.get((rule, mode)))
            rows.append({"program": rule, "mode": mode, "planted": rule, "function": "site", "runs": [found]})
            print(rule, mode, found["causes"], flush=True)
    return rows


def main() -> None:
    """Records, decides and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="of the programs made for this")
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--command", type=Path, default=project / ".venv/bin/heapwright")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asked = Asked(options.command, Path(folder))
        document = {
            "schema": "heapwright.bench.agents/1",
            "machine": machine.describe(),
            "sources": sources.stamp("agents"),
            "planted": planted(asked, options.runs),
            "rules": of_the_rules(asked, options.build),
        }
    path = options.output / "agents.json"
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
