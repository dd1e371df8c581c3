#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts the figures of bench/results/ into the documents, as the BLOCKS of bench/*/figures.py declare.

--write writes the documents that differ; --check names them and fails. Folders of bench/ may be
named, to take only their blocks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

import documents
from documents import Block


def made(blocks: Iterable[Block]) -> dict[Path, str]:
    """The documents' new texts."""
    texts: dict[Path, str] = {}
    for block in blocks:
        path = documents.project / block.document
        before = texts.get(path) or (path.read_text(encoding="utf-8") if path.exists() else "")
        texts[path] = block.put_into(before)
    return texts


def give(texts: dict[Path, str], is_writing: bool) -> int:
    """Writes what differs, or names it; the exit code."""
    differing = {
        path: text
        for path, text in texts.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    for path, text in differing.items():
        name = path.relative_to(documents.project)
        if is_writing:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
        else:
            print(f"{name} disagrees with the results: run bench/render.py --write")
    return 1 if differing and not is_writing else 0


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--write", action="store_true")
    way.add_argument("--check", action="store_true")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", type=documents.folder)
    options = parser.parse_args()
    blocks = (block for module in documents.declarations(options.folders) for block in module.BLOCKS)
    return give(made(blocks), options.write)


if __name__ == "__main__":
    sys.exit(main())
