#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that what the documents name exists.

Links and their anchors, repository paths in backticks, `make` targets,
`heapwright` commands, and the result file behind every block of figures
(`<!-- figures: bench/results/x.json -->`).
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
INLINE_CODE = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
FIGURES = re.compile(r"<!--\s*figures:\s*(\S+)\s*-->")
MAKE_CALL = re.compile(r"(?:^|[\s;&])make\s+([a-z][\w-]*)")
COMMAND_CALL = re.compile(r"(?:^|[\s;&/])heapwright\s+([a-z][\w-]*)")
PATH_START = re.compile(r"^(src|include|python|tests|tools|bench|fuzz|docs|examples|\.ci)/")
PLACEHOLDER = re.compile(r"[<>…*{}%$]|\bNAME\b|\.\.\.")
SHELL = {"", "sh", "bash", "console", "shell"}


def anchor_of(heading: str) -> str:
    plain = re.sub(r"[`*_]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain))


def check_links(root: Path, document: Path, text: str) -> list[str]:
    problems = []
    prose = FENCE.sub("", text)
    for target in LINK.findall(INLINE_CODE.sub("", prose)):
        if re.match(r"[a-z]+:", target):
            continue
        path_text, _, anchor = target.partition("#")
        path = (document.parent / path_text).resolve() if path_text else document
        if not path.exists():
            problems.append(f"dead link {target}")
        elif anchor and path.suffix == ".md":
            headings = HEADING.findall(FENCE.sub("", path.read_text(encoding="utf-8")))
            if anchor not in {anchor_of(h) for h in headings}:
                problems.append(f"dead anchor {target}")
    return problems


def check_paths(root: Path, snippets: list[str]) -> list[str]:
    problems = []
    for snippet in snippets:
        path = snippet.strip().split(" ")[0].split(":")[0].rstrip(",.;")
        if not PATH_START.match(path) or PLACEHOLDER.search(path):
            continue
        if not (root / path.split("#")[0]).exists():
            problems.append(f"path {path} does not exist")
    return problems


def make_targets(root: Path) -> set[str]:
    makefile = root / "Makefile"
    text = makefile.read_text(encoding="utf-8") if makefile.exists() else ""
    return set(re.findall(r"^([a-z][\w-]*)\s*:(?!=)", text, re.MULTILINE))


def cli_commands(root: Path) -> set[str]:
    folder = root / "python/heapwright/cli"
    # A word of Python's own has a _ behind it: try_.py.
    return {p.stem.rstrip("_") for p in folder.glob("*.py") if not p.stem.startswith("_")}


def check_commands(root: Path, code: list[str]) -> list[str]:
    targets, commands = make_targets(root), cli_commands(root)
    problems = []
    for snippet in code:
        problems += [f"no make target {t}" for t in MAKE_CALL.findall(snippet) if t not in targets]
        problems += [f"no command heapwright {c}" for c in COMMAND_CALL.findall(snippet) if c not in commands]
    return problems


def command_lines(text: str) -> list[str]:
    """Shell lines of fenced blocks; of console blocks only those after a prompt."""
    lines: list[str] = []
    for language, body in FENCE.findall(text):
        if language not in SHELL:
            continue
        rows = body.splitlines()
        if language == "console":
            rows = [r[2:] for r in rows if r.startswith("$ ")]
        elif language == "":
            rows = []
        lines += [r.split(" #")[0] for r in rows]
    return lines


def check_figures(root: Path, text: str) -> list[str]:
    wanted = FIGURES.findall(text)
    return [f"figures without their result file {p}" for p in wanted if not (root / p).is_file()]


def check_document(root: Path, document: Path) -> list[str]:
    text = document.read_text(encoding="utf-8")
    inline = INLINE_CODE.findall(FENCE.sub("", text))
    problems = check_links(root, document, text)
    problems += check_paths(root, inline)
    problems += check_commands(root, inline + command_lines(text))
    problems += check_figures(root, text)
    name = document.relative_to(root).as_posix()
    return [f"{name}: {problem}" for problem in problems]


def check_site(root: Path, files: list[Path]) -> list[str]:
    """Each document below docs/ is in the site's list, mkdocs.yml; `make docs` refuses one that is not."""
    site = root / "mkdocs.yml"
    if not site.exists():
        return []
    listed = set(re.findall(r"([\w./-]+\.md)\s*$", site.read_text(encoding="utf-8"), re.MULTILINE))
    pages = {
        file.relative_to(root / "docs").as_posix() for file in files if file.is_relative_to(root / "docs")
    }
    return [f"mkdocs.yml: docs/{page} is not in nav" for page in sorted(pages - listed)]


def documents(root: Path) -> list[Path]:
    command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return sorted({root / line for line in listed.stdout.splitlines() if (root / line).exists()})
    return sorted(root.rglob("*.md"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    root = parser.parse_args().root.resolve()
    files = documents(root)
    problems = [problem for document in files for problem in check_document(root, document)]
    problems += check_site(root, files)
    for problem in problems:
        print(problem)
    print(f"docs: {len(files)} documents checked, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
