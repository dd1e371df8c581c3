#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What try measures of a remedy, beside what a replay had said and the same change in the code.

Each program is recorded, servers under their load. try takes what explain ranks, or the case's remedies, with
its own turns and noise. A program that has the change in its code is measured as one more way in
turns of its own: a shell starts either. Writes build/results/tried.json; bench/pack.py and bench/render.py
make the table. --only takes some cases, and adds them to those in the file.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heapwright.measure import machine
from heapwright.trial import document, session
from heapwright.trial.run import Plan, Way

sys.path.append(str(Path(__file__).resolve().parent))
from cases import CASES, Case

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import servers  # noqa: E402
import sources  # noqa: E402

LIMIT_S = 240
SCHEMA = "heapwright.bench.tried/1"


class Bench:
    """One case, in a folder of its own."""

    def __init__(self, case: Case, options: argparse.Namespace, folder: Path) -> None:
        self.case, self.options, self.folder = case, options, folder
        self.known = {
            "programs": str(options.build / "programs"),
            "project": str(project),
            "folder": str(folder),
            "port": str(servers.free_port()),
        }
        self.environment = {**os.environ, **case.environment}
        self.trace = folder / "trace.heapwright"

    def words(self, text: str) -> str:
        """A case's text with what is known put in; other braces are the programs'."""
        for name, value in self.known.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def shell(self, text: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """In the folder; raises if it fails."""
        return subprocess.run(
            ["/bin/bash", "-c", self.words(text)], cwd=self.folder, env=self.environment, check=True,
            timeout=LIMIT_S, text=True, capture_output=True, **more,
        )  # fmt: skip

    def record(self) -> None:
        """A server is recorded under its load, and ended by SIGTERM."""
        line = (
            f"exec {self.options.command} record --children -o {self.trace} -- {self.words(self.case.line)}"
        )
        with (self.folder / "recorder").open("w") as said:
            process = subprocess.Popen(
                ["/bin/bash", "-c", line], cwd=self.folder, env=self.environment, stdout=said, stderr=said
            )
        if self.case.load:
            self._wait_until_ready()
            self.shell(self.case.load)
            process.send_signal(signal.SIGTERM)
        code = process.wait(LIMIT_S)
        if code and not self.case.load:
            raise RuntimeError(f"record ends with {code}: {(self.folder / 'recorder').read_text()[-500:]}")

    def _wait_until_ready(self) -> None:
        for _ in range(200):
            ready = ["/bin/bash", "-c", self.words(self.case.ready)]
            if subprocess.run(ready, cwd=self.folder, capture_output=True, check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError("the server is not ready")

    def tried(self) -> dict[str, Any] | str:
        """try's document; why there is none."""
        words = [self.options.command, "try", self.trace, "--json", "--runs", self.options.runs]
        for remedy in self.case.remedies:
            words += ["--remedy", remedy]
        for option, text in (
            ("--while", self.case.load),
            ("--ready", self.case.ready),
            ("--metric", self.case.metric),
        ):
            words += [option, self.words(text)] if text else []
        line = f'exec "$@" -- {self.words(self.case.line)}'
        done = subprocess.run(
            ["/bin/bash", "-c", line, "bash", *map(str, words)], cwd=self.folder, env=self.environment,
            check=False, timeout=10 * LIMIT_S, text=True, capture_output=True,
        )  # fmt: skip
        if not done.stdout:
            return done.stderr.strip().splitlines()[-1]
        return json.loads(done.stdout)

    def by_hand(self) -> dict[str, Any] | None:
        """The figures of the program with the change in its code, against the program as it is."""
        if not self.case.by_hand:
            return None
        changed = self.words(self._without(self.case.by_hand))
        either = f'if [ "$BY_HAND" ]; then {changed}; else exec {self.words(self.case.line)}; fi'
        plan = Plan(["/bin/bash", "-c", either], self.environment)
        way = Way("by hand", {"BY_HAND": "1"})
        found = session.try_all(plan, [way], self.options.runs, None, lambda *_: None)
        return document.make(found, document.Said())["remedies"][1]

    def _without(self, line: str) -> str:
        """The changed program has none of the settings that are part of the fault."""
        unset = " ".join(f"-u {name}" for name in self.case.environment)
        return f"exec env {unset} {line}" if unset else f"exec {line}"


def kept(row: Mapping[str, Any]) -> dict[str, Any]:
    """Of a remedy's row: its name, how it failed, what replay said and each figure with its verdict."""
    figures = {
        key: {
            name: one[name] for name in ("value", "low", "high", "difference", "interval", "below", "verdict")
        }
        for key, one in row["figures"].items()
    }
    return {**{name: row[name] for name in ("remedy", "failure", "replayed")}, "figures": figures}


def measured(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """The case's entry."""
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(case, options, Path(name))
        if case.input:
            bench.shell(case.input)
        bench.record()
        tried, by_hand = bench.tried(), bench.by_hand()
    if isinstance(tried, str):
        return {"said": tried, "remedies": [], "best": "", "by_hand": None, "notes": []}
    return {
        "said": "",
        "runs": tried["runs"],
        "load_average": os.getloadavg()[0],
        "remedies": [kept(row) for row in tried["remedies"]],
        "best": tried["best"],
        "by_hand": kept(by_hand) if by_hand else None,
        "metric_unit": tried["metric_unit"],
        "notes": tried["notes"],
    }


def main() -> None:
    """Runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--command", type=Path, default=project / ".venv/bin/heapwright")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("--only", default="", help="cases with this in their name")
    options = parser.parse_args()
    path = options.output / "tried.json"
    known = json.loads(path.read_text(encoding="utf-8"))["cases"] if options.only and path.exists() else {}
    for case in CASES:
        program = case.line.split()[0]
        if options.only not in case.name or (program.startswith("/") and not Path(program).exists()):
            continue
        try:
            known[case.name] = measured(case, options)
        except (RuntimeError, subprocess.SubprocessError) as error:
            print(f"{case.name}: {error} {getattr(error, 'stderr', '')}", file=sys.stderr, flush=True)
            continue
        print(case.name, known[case.name]["best"] or known[case.name]["said"] or "nothing", flush=True)
        cases = {one.name: known[one.name] for one in CASES if one.name in known}
        made = {
            "schema": SCHEMA,
            "machine": machine.describe(),
            "sources": sources.stamp("tried"),
            "cases": cases,
        }
        path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
