#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the schemas of all JSON for the installation, which does not have the package yet.

write_schemas.py SOURCES NATIVE FOLDER: the folders of the package's sources and of the new native module.
"""

import sys
from pathlib import Path

sources, native, folder = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, sources)
import heapwright  # noqa: E402

heapwright.__path__.append(native)
from heapwright.cli import schemas  # noqa: E402

schemas.write(Path(folder))
