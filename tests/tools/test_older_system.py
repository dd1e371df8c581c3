# SPDX-License-Identifier: MIT
"""tools/older_system.py: links of an unpacked root lead to its own files."""

import sys
from pathlib import Path

from conftest import tools_folder

sys.path.append(str(tools_folder))
import older_system


def test_links_lead_into_the_root(tmp_path: Path) -> None:
    """Also where this machine has a file of that name."""
    (tmp_path / "lib/folder").mkdir(parents=True)
    (tmp_path / "lib64").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").write_text("of the root")
    (tmp_path / "lib/folder/one.so").write_text("one")
    (tmp_path / "lib64/shell").symlink_to("/bin/sh")
    (tmp_path / "lib64/one.so").symlink_to("/lib/folder/one.so")
    (tmp_path / "lib/near.so").symlink_to("folder/one.so")
    (tmp_path / "lib/gone").symlink_to("/nowhere/at/all")
    older_system.make_links_relative(tmp_path)
    assert (tmp_path / "lib64/shell").read_text() == "of the root"
    assert (tmp_path / "lib64/one.so").read_text() == "one"
    assert str((tmp_path / "lib/near.so").readlink()) == "folder/one.so"
    assert str((tmp_path / "lib/gone").readlink()) == "../nowhere/at/all"
