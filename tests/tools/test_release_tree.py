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
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "dirname", "readlink"):
        (programs / name).symlink_to(Path(shutil.which(name) or name).resolve())
    for name, version in here.items():
        (programs / name).write_text(
            f'#!/bin/sh\ncase "$1" in -c) echo {version};; *) echo {name} runs;; esac\n'
        )
        (programs / name).chmod(0o755)
    done = subprocess.run(
        [tmp_path / "bin/heapwright"],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout + done.stderr, done.returncode) == (said, 0 if said.endswith("runs\n") else 2)
