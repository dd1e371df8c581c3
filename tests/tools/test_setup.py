# SPDX-License-Identifier: MIT
"""tools/setup.sh asks for what the tests in question need, and no more."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

project = Path(__file__).resolve().parents[2]
CORE = {"g++", "libzstd-dev", "libgtest-dev"}


def asked_for(folder: Path, *words: str) -> set[str]:
    """On a machine that has none of the packages, and no apt-get."""
    for name in ("bash", "dirname", "grep"):
        place = shutil.which(name)
        assert place
        (folder / name).symlink_to(place)
    environment = {**os.environ, "PATH": str(folder)}
    done = subprocess.run(
        [str(folder / "bash"), str(project / "tools/setup.sh"), *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    return set(done.stderr.partition(" like: ")[2].split())


@pytest.mark.parametrize(
    ("part", "needed", "not_needed"),
    [
        ("", {"chromium", "golang-go", "php-cli", "clang"}, {"libboost-dev"}),
        ("heap", set(), {"chromium", "golang-go", "php-cli", "nginx-light", "clang"}),
        ("python/explain", {"libjemalloc2"}, {"chromium", "golang-go", "php-cli", "nginx-light"}),
        ("python/page", {"chromium"}, {"golang-go"}),
        ("python", {"chromium", "golang-go"}, {"php-cli"}),
        ("journeys/test_daemons.py", {"nginx-light", "postgresql-15"}, {"chromium", "php-cli"}),
        ("journeys", {"nginx-light", "php-cli", "tmux"}, {"chromium"}),
    ],
)
def test_packages_are_those_of_the_part(
    tmp_path: Path, part: str, needed: set[str], not_needed: set[str]
) -> None:
    asked = asked_for(tmp_path, "test", *([part] if part else []))
    assert asked >= needed | CORE
    assert not asked & not_needed


def test_every_part_is_there() -> None:
    """A folder or file of the tests; else a stage of tools/run_tests.py."""
    listed = (project / "tools/debian-packages.txt").read_text(encoding="utf-8")
    parts = {part for found in re.findall(r"^test:(\S+)", listed, re.MULTILINE) for part in found.split(",")}
    tests = project / "tests"
    assert not [part for part in parts - {"asan", "checks"} if not [*tests.glob(f"{part}*")]]
