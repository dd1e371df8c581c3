# SPDX-License-Identifier: MIT
"""Which Python the launcher of a release takes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import tools_folder

sys.path.append(str(tools_folder))
import release_tree

BOTH = ["heapwright-1.0.0-cp311-cp311-linux_x86_64.whl", "heapwright-1.0.0-cp312-abi3-linux_x86_64.whl"]
REFUSED = "heapwright: needs Python 3.11{}, found {}; install it, or the wheel for yours\n"


def launched(tree: Path, here: dict[str, str]) -> tuple[str, int]:
    """What the launcher says where these Pythons are, by name, and its exit code."""
    programs = tree / "programs"
    programs.mkdir()
    for name in ("sh", "dirname", "readlink"):
        (programs / name).symlink_to(Path(shutil.which(name) or name).resolve())
    for name, version in here.items():
        (programs / name).write_text(
            f'#!/bin/sh\ncase "$1" in -c) echo {version};; *) echo {name} runs;; esac\n'
        )
        (programs / name).chmod(0o755)
    done = subprocess.run(
        [tree / "bin/heapwright"],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout + done.stderr, done.returncode


@pytest.mark.parametrize(
    ("wheels", "here", "said"),
    [
        (BOTH, {"python3": "3.11"}, "python3 runs\n"),
        (BOTH, {"python3": "3.12"}, "python3 runs\n"),
        (BOTH, {"python3": "3.15"}, "python3 runs\n"),
        (BOTH, {"python3": "3.9", "python3.13": "3.13"}, "python3.13 runs\n"),
        (BOTH, {"python3": "3.9"}, REFUSED.format(" or later", "3.9")),
        (BOTH, {}, REFUSED.format(" or later", "none")),
        (BOTH[:1], {"python3": "3.11"}, "python3 runs\n"),
        (BOTH[:1], {"python3": "3.12"}, REFUSED.format("", "3.12")),
    ],
)
def test_a_python_with_a_module_is_taken(
    tmp_path: Path, wheels: list[str], here: dict[str, str], said: str
) -> None:
    release_tree.lay_launcher(tmp_path, release_tree.pythons_of(list(map(Path, wheels))))
    assert launched(tmp_path, here) == (said, 0 if said.endswith("runs\n") else 2)


@pytest.mark.parametrize(
    ("here", "said"),
    [({"python3": "3.9"}, "own runs -E -s"), ({}, "own runs -E -s"), ({"python3": "3.12"}, "python3 runs")],
)
def test_its_own_python_is_taken_where_no_other_fits(tmp_path: Path, here: dict[str, str], said: str) -> None:
    release_tree.lay_launcher(tmp_path, release_tree.pythons_of(list(map(Path, BOTH))))
    own = tmp_path / "lib/heapwright-python/bin/python3.11"
    own.parent.mkdir(parents=True)
    own.write_text('#!/bin/sh\necho own runs "$1" "$2"\n')
    own.chmod(0o755)
    assert launched(tmp_path, here) == (f"{said}\n", 0)
