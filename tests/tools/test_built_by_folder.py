# SPDX-License-Identifier: MIT
"""`make test T=FOLDER` builds all that the folder's tests run or preload: nothing stale is tested.

Read from the configured build/release: what each test names, and what building its folder brings up to date.
"""

import json
import re
from functools import lru_cache
from pathlib import Path

import pytest

project = Path(__file__).resolve().parents[2]
build = project / "build/release"
SHIPPED = re.compile(r"(bin/heapwright[\w-]*|lib/libheapwright[\w-]*\.(?:so|a))\b")

pytestmark = pytest.mark.skipif(
    not (build / "build.ninja").is_file(), reason="build/release is not configured: make build TESTS=ON"
)


@lru_cache
def rules() -> dict[str, tuple[str, list[str]]]:
    """For each file or target that ninja makes: the rule, and all that has to be up to date before."""
    found = {}
    for line in (build / "build.ninja").read_text().replace("$\n", "").splitlines():
        if line.startswith("build "):
            made, _, rest = line.removeprefix("build ").partition(": ")
            rule, *needed = rest.split()
            for name in made.split():
                found[name] = (rule, [word for word in needed if word not in ("|", "||")])
    return found


@lru_cache
def built_by(target: str) -> frozenset[str]:
    """What ninja brings up to date for this target."""
    seen: set[str] = set()
    waiting = [target]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += rules().get(name, ("", []))[1]
    return frozenset(seen)


@lru_cache
def products() -> frozenset[str]:
    """The programs and libraries that some rule links."""
    return frozenset(name for name, (rule, _) in rules().items() if "_LINKER__" in rule)


def named_products(text: str) -> set[str]:
    words = re.findall(rf"{re.escape(str(build))}/([\w./+-]+)", text)
    return {word for word in words if word in products()}


def run_by_tests() -> dict[str, set[str]]:
    """For each folder with a CTestTestfile: the products that its tests run, preload or name."""
    found: dict[str, set[str]] = {}
    for listing in sorted((build / "tests").rglob("CTestTestfile.cmake")):
        folder = listing.parent.relative_to(build).as_posix()
        own = [line for line in listing.read_text().splitlines() if not line.startswith("subdirs")]
        found[folder] = named_products("\n".join(own))
    return found


def named_by_sources() -> dict[str, set[str]]:
    """The same for paths that a test program has compiled in."""
    found: dict[str, set[str]] = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        output = Path(command.get("output", ""))
        if output.is_relative_to("tests"):
            folder = "/".join(output.parts[: output.parts.index("CMakeFiles")])
            found.setdefault(folder, set()).update(named_products(command["command"].replace("\\", "")))
    return found


def test_a_folders_target_builds_all_that_its_tests_run() -> None:
    missing = {}
    for named in (run_by_tests(), named_by_sources()):
        for folder, programs in named.items():
            # A folder's tests are run with those of the folders in it, under the name of either.
            stale = programs - built_by(f"{folder}/all")
            if stale:
                missing[folder] = sorted(stale)
    assert missing == {}
    assert "lib/libheapwright.so" in run_by_tests()["tests/heap_programs"]


def test_python_tests_find_all_that_is_shipped_up_to_date() -> None:
    shipped = {name for name in products() if SHIPPED.fullmatch(name)}
    assert {"bin/heapwright-collect", "lib/libheapwright-count.so", "bin/heapwright-attach"} <= shipped
    # The heap that is linked is of those who link it.
    assert shipped - built_by("run_by_python") <= {"lib/libheapwright-static.a"}


def test_python_tests_find_the_programs_of_other_folders_up_to_date() -> None:
    words = re.compile(r"""["'](?:programs|heap_programs)/([\w/.+-]+)["']""")
    texts = [path.read_text() for path in (project / "tests").rglob("*.py") if "tools" not in path.parts]
    named = {match for text in texts for match in words.findall(text)}
    linked = {name for name in products() if re.match(r"(?:heap_)?programs/", name)}
    used = {name for name in linked if name.partition("/")[2] in named}
    assert len(used) > 3
    assert linked - built_by("run_by_python") == set()
