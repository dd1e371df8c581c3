#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes build/roots/older, to link what is shipped against: see cmake/older_system.cmake.

The C library and elfutils of Debian 11, the oldest that Debian's mirrors have, unpacked by mmdebstrap. Prints
the folder. Exit code 2: it cannot be made here.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from release_tree import ReleaseError, project, run
from run_trixie import CannotBeMadeError, mirror

folder = project / "build/roots/older"
library_folders = tuple(folder / place / "x86_64-linux-gnu" for place in ("usr/lib", "lib"))
PACKAGES = ("libc6-dev", "libdw-dev", "libelf-dev")


def make_links_relative(root: Path) -> None:
    """Of those that begin with /, which are meant within the root."""
    for link in [path for path in root.rglob("*") if path.is_symlink()]:
        target = link.readlink()
        if target.is_absolute():
            link.unlink()
            link.symlink_to(os.path.relpath(root / target.relative_to("/"), link.parent))


def make_root(root: Path, what: str, packages: Sequence[str], release: str, *options: str) -> Path:
    """Unless it is there. what: for whom it is, in the error if it cannot be made."""
    if root.is_dir():
        return root
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        raise ReleaseError(f"only root can make {what}, with mmdebstrap, which Debian has a package of")
    made = root.with_suffix(".new")
    run("rm", "-rf", "--one-file-system", made)
    made.parent.mkdir(parents=True, exist_ok=True)
    include = f"--include={','.join(packages)}"
    run("mmdebstrap", "--variant=extract", include, *options, release, made, mirror())
    make_links_relative(made)
    made.rename(root)
    return root


def make() -> Path:
    return make_root(folder, "an older system", PACKAGES, "bullseye")


def main() -> int:
    try:
        print(make())
    except (ReleaseError, CannotBeMadeError) as error:
        print(f"older system: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
