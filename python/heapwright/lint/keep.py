# SPDX-License-Identifier: MIT
"""Which findings are reported: not those with a comment, in the baseline, or on unchanged lines."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from heapwright.lint.finding import Finding
from heapwright.lint.kinds import rule_id

_NOLINT = re.compile(r"\bNOLINT(NEXTLINE|BEGIN|END)?\b(?:\(([^)]*)\))?")
_BASELINE = "heapwright.lint-baseline/1"
_HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


class KeepError(Exception):
    """An error in a baseline or a revision, in one line."""


class Lines:
    """The files' lines, read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, list[str]] = {}

    def of(self, file: str) -> list[str]:
        if file not in self._known:
            try:
                text = (self._folder / file).read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = ""
            self._known[file] = text.split("\n")
        return self._known[file]

    def at(self, file: str, line: int) -> str:
        """The line without surrounding white space; "" if there is no such line."""
        lines = self.of(file)
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def with_fingerprints(findings: Sequence[Finding], lines: Lines) -> list[Finding]:
    """Adds fingerprints, which stay the same when other lines are added or removed."""
    seen: Counter[str] = Counter()
    found = []
    for finding in sorted(findings, key=lambda one: (one.file, one.line)):
        text = " ".join(lines.at(finding.file, finding.line).split())
        name = "\0".join((finding.kind, finding.file, finding.function, text))
        own = hashlib.sha256(f"{name}\0{seen[name]}".encode()).hexdigest()[:16]
        seen[name] += 1
        found.append((finding, own))
    by_finding = {id(finding): own for finding, own in found}
    return [finding._replace(fingerprint=by_finding[id(finding)]) for finding in findings]


def is_told(finding: Finding, lines: Lines) -> bool:
    """Whether no NOLINT comment suppresses it."""
    name = rule_id(finding.kind)
    if _silences(lines.at(finding.file, finding.line), "", name):
        return False
    if _silences(lines.at(finding.file, finding.line - 1), "NEXTLINE", name):
        return False
    depth = 0
    for line in lines.of(finding.file)[: finding.line]:
        depth += _silences(line, "BEGIN", name) - _silences(line, "END", name)
    return depth <= 0


def _silences(line: str, form: str, name: str) -> bool:
    found = _NOLINT.search(line) if "NOLINT" in line else None
    if found is None or (found[1] or "") != form:
        return False
    if found[2] is None:
        return True
    wanted = [one.strip() for one in found[2].split(",")]
    return any(re.fullmatch(re.escape(one).replace(r"\*", ".*"), name) for one in wanted if one)


def read_baseline(path: Path) -> frozenset[str]:
    """The fingerprints in it."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != _BASELINE:
            raise KeyError
        return frozenset(str(one["fingerprint"]) for one in document["findings"])
    except OSError as error:
        raise KeepError(
            f"cannot read {path}: {(error.strerror or str(error)).lower()}; --write-baseline writes one"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise KeepError(f"{path} is not a baseline; --write-baseline writes one") from None


def baseline_text(findings: Iterable[Finding]) -> str:
    """Writes one line each, in file order."""
    rows = [
        {
            "fingerprint": one.fingerprint,
            "rule": rule_id(one.kind),
            "file": one.file,
            "function": one.function,
        }
        for one in sorted(findings, key=lambda one: (one.file, one.line, one.kind))
    ]
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    return f'{{"schema": "{_BASELINE}", "findings": [\n  {lines}\n]}}\n'


def changed_lines(folder: Path, revision: str) -> Mapping[str, frozenset[int]]:
    """Changed lines since that revision by file; new files completely."""
    if revision.startswith("-"):
        raise KeepError(f"--since takes a revision, not '{revision}'")
    # git also compares files outside a repository, with other output.
    _git(["git", "-C", str(folder), "rev-parse", "--git-dir"])
    command = ["git", "-C", str(folder), "diff", "--relative", "--no-color", "--no-ext-diff", "-U0"]
    found: dict[str, set[int]] = {}
    file = ""
    for line in _git([*command, "--src-prefix=a/", "--dst-prefix=b/", revision, "--", "."]).splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ ").removeprefix("b/").rstrip("\t")
        elif hunk := _HUNK.match(line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found.setdefault(file, set()).update(range(first, first + count))
    others = ["git", "-C", str(folder), "ls-files", "--others", "--exclude-standard", "-z"]
    for name in filter(None, _git(others).split("\0")):
        found[name] = set(range(1, len(Lines(folder).of(name)) + 1))
    return {name: frozenset(lines) for name, lines in found.items()}


def _git(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        raise KeepError("--since needs git") from None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise KeepError(f"--since: git diff failed: {reason}")
    return done.stdout
