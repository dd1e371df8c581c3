# SPDX-License-Identifier: MIT
"""export --to trace: a trace that is read without the program's files, and one without any name."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import heapwright
import pytest
from heapwright.model.copies import write_copy
from trace_bytes import EVENTS, NAMES, chunks, everything_in
from written_traces import BUILD, Command, run_command, small_trace

PROGRAM = BUILD / "programs/planted_names"
# Differ between a trace and its copy: where it is and how many bytes it has.
OF_THE_FILE = {"file", "file_bytes", "bytes_per_event"}


class Copies(NamedTuple):
    """A recording whose program is gone, and its copies."""

    original: Path
    named: Path
    anonymous: Path
    explained: dict[str, Any]  # the original while the program was there


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Copies:
    folder = tmp_path_factory.mktemp("planted_folder")
    program = folder / "planted_program"
    shutil.copy(PROGRAM, program)
    mapped = folder / "planted_file"
    mapped.write_bytes(bytes(1 << 16))
    environment = {"HEAPWRIGHT_BIN": str(BUILD / "bin"), "MALLOC_CONF": "planted:setting"}
    environment["GLIBC_TUNABLES"] = "glibc.malloc.arena_max=2:glibc.planted=1"

    def command(*arguments: object) -> str:
        said = run_command(*arguments, cwd=folder, environment=environment.items())
        assert said.code == 0, said.err
        return said.out

    command("record", "-o", "it.heapwright", "--keep-arguments", "--", program, mapped, "planted_argument")
    command("export", "it.heapwright", "--to", "trace")
    command("export", "it.heapwright", "--to", "trace", "--anonymize")
    explained = json.loads(command("explain", "it.heapwright", "--json"))
    program.unlink()
    files = (folder / name for name in ("it.heapwright", "it.named.heapwright", "anonymous.heapwright"))
    return Copies(*files, explained)


def explained(file: Path) -> dict[str, Any]:
    said = run_command("explain", file, "--json", cwd=file.parent)
    assert said.code == 0, said.err
    document: dict[str, Any] = json.loads(said.out)
    return document


def types_of(document: dict[str, Any]) -> dict[str, str]:
    """Of the sites of the question volume, by their names."""
    sites = document["questions"]["volume"]["sites"]
    return {site["name"]: site["type"]["name"] for site in sites if "type" in site}


def values_of(document: object, path: str = "") -> Iterator[tuple[str, object]]:
    """All that is no table and no list, with the way to it."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name not in OF_THE_FILE:
                yield from values_of(value, f"{path}.{name}")
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from values_of(value, f"{path}[{number}]")
    else:
        yield path, document


def figures_of(document: object) -> dict[str, object]:
    """Numbers but those that say where and when: lines, ids of processes and threads.

    Types that functions' names say are not known either: without the names, others are most.
    """
    of_where = re.compile(r"\.(?:line|process_id|parent_process_id|thread_id|caller_line)$|\.type\.\w+$")
    return {
        path: value
        for path, value in values_of(document)
        if isinstance(value, int | float) and not of_where.search(path)
    }


def test_the_copy_reads_the_same_without_the_program(copies: Copies) -> None:
    assert dict(values_of(explained(copies.named))) == dict(values_of(copies.explained))
    assert "planted_space::planted_function" in json.dumps(explained(copies.named))
    assert types_of(copies.explained)


def test_types_by_debug_information_are_inside(copies: Copies) -> None:
    """One that no name says, in each copy; in the anonymous one by its hash."""
    made = heapwright.open(copies.named).allocated_types()
    assert made
    hashed = heapwright.open(copies.anonymous).allocated_types()
    assert hashed.keys() == made.keys()
    assert all(re.fullmatch(r"type_[0-9a-f]{10}", name) for name in hashed.values())
    assert heapwright.open(copies.original).allocated_types() == {}


def test_without_the_copy_the_names_are_lost(copies: Copies) -> None:
    text = json.dumps(explained(copies.original))
    assert "planted_space::" not in text
    assert "planted_program+0x" in text


def test_every_frame_has_the_names_that_it_had(copies: Copies, tmp_path: Path) -> None:
    shutil.copy(PROGRAM, tmp_path / "planted_program")
    original = heapwright.open(copies.original, debug_root=tmp_path)
    copy = heapwright.open(copies.named)
    frames = range(len(original.frame_columns["pc"]))
    assert len(frames) > 30
    for frame in frames:
        assert copy.symbols().locations(frame) == original.symbols().locations(frame)


@pytest.mark.parametrize("form", ["pprof", "dhat", "folded", "parquet"])
def test_other_formats_are_written_of_the_copy(copies: Copies, tmp_path: Path, form: str) -> None:
    said = run_command("export", copies.named, "--to", form, "-o", "out", cwd=tmp_path)
    assert said.code == 0, said.err


def test_compare_takes_the_copy_for_the_recording(copies: Copies) -> None:
    said = run_command("compare", copies.named, copies.named, "--json", cwd=copies.named.parent)
    assert said.code == 0, said.err
    assert json.loads(said.out)["same_sites"] >= 5


def test_no_name_is_in_the_anonymous_copy(copies: Copies) -> None:
    assert everything_in(copies.named).count(b"planted") > 20
    found = everything_in(copies.anonymous)
    host = os.uname().nodename.encode()
    secrets = [b"planted", b"Planted", str(copies.named.parent).encode(), copies.named.parent.name.encode()]
    assert [secret for secret in secrets if secret in found] == []
    assert heapwright.open(copies.original).metadata.host.encode() == host
    assert heapwright.open(copies.anonymous).metadata.host.startswith("host_")


def test_texts_of_events_are_hashed_too(copies: Copies) -> None:
    """The letters of a name stand in columns of their own, in pieces of 8 bytes."""
    names = {row["name"] for row in explained(copies.anonymous)["questions"]["phases"]["phases"]}
    assert len(names) == 1
    assert all(re.fullmatch(r"name_[0-9a-f]{10}", name) for name in names)
    pieces = [b"planted", b"d phase", b"ng name", b"region"]
    columns = b"".join(chunk.content for chunk in chunks(copies.anonymous) if chunk.kind == EVENTS)
    assert [piece for piece in pieces if piece in columns] == []


def test_no_figure_changes_in_the_anonymous_copy(copies: Copies) -> None:
    assert figures_of(explained(copies.anonymous)) == figures_of(copies.explained)


def test_the_same_sites_and_plumbing_are_seen(copies: Copies) -> None:
    named, anonymous = heapwright.open(copies.named), heapwright.open(copies.anonymous)
    assert list(anonymous.sites().site_of_stack) == list(named.sites().site_of_stack)
    deep = heapwright.model.SiteOptions(depth=4)
    assert list(anonymous.sites(deep).site_of_stack) == list(named.sites(deep).site_of_stack)
    full = heapwright.model.SiteOptions(full_stacks=True)
    assert list(anonymous.sites(full).site_of_stack) == list(named.sites(full).site_of_stack)


def test_owners_of_pages_stay(copies: Copies) -> None:
    def kinds(file: Path) -> Counter[tuple[str, int]]:
        rows = explained(file)["questions"]["residency"]["owners"]
        return Counter((row["kind"], row["anonymous_bytes"] + row["file_bytes"]) for row in rows)

    assert kinds(copies.anonymous) == kinds(copies.named)
    assert len(kinds(copies.named)) >= 4


def test_addresses_of_code_are_numbers(copies: Copies) -> None:
    named, anonymous = heapwright.open(copies.named), heapwright.open(copies.anonymous)

    def places(trace: heapwright.Trace) -> list[tuple[int, int]]:
        rows = zip(trace.frame_columns["module"], trace.frame_columns["pc"], strict=True)
        return [
            (module, pc - trace.modules[module].bias) for module, pc in rows if module < len(trace.modules)
        ]

    numbers = places(anonymous)
    assert len(set(numbers)) == len(set(places(named)))
    assert max(place for _, place in numbers) <= len(numbers)
    assert {module.bias - module.start for module in anonymous.modules} == {0}


def test_what_the_analysis_goes_by_stays(copies: Copies) -> None:
    metadata = heapwright.open(copies.anonymous).metadata
    assert metadata.allocator.startswith("glibc 2.")
    assert metadata.condition_values["GLIBC_TUNABLES"].startswith("glibc.malloc.arena_max=2")
    assert metadata.condition_values["MALLOC_CONF"].startswith("value_")
    assert (
        metadata.condition_values["cpus"] == heapwright.open(copies.named).metadata.condition_values["cpus"]
    )
    assert (metadata.process_id, metadata.parent_process_id, metadata.start_unix_ns) == (1, 0, 0)
    assert "libc.so.6" in {module.name for module in heapwright.open(copies.anonymous).modules}


def test_each_anonymous_copy_has_hashes_of_its_own(copies: Copies, tmp_path: Path) -> None:
    hosts = set()
    for number in range(2):
        write_copy(heapwright.open(copies.named), tmp_path / f"{number}", anonymize=True)
        hosts.add(heapwright.open(tmp_path / f"{number}").metadata.host)
    assert len(hosts) == 2


def test_an_anonymous_copy_of_the_named_copy_needs_no_program(copies: Copies, tmp_path: Path) -> None:
    write_copy(heapwright.open(copies.named), tmp_path / "again", anonymize=True)
    assert b"planted" not in everything_in(tmp_path / "again")
    assert figures_of(explained(tmp_path / "again")) == figures_of(copies.explained)


def test_damaged_names_are_told_and_the_rest_is_read(copies: Copies, tmp_path: Path) -> None:
    data = bytearray(copies.named.read_bytes())
    (names,) = (chunk for chunk in chunks(copies.named) if chunk.kind == NAMES)
    data[names.offset + names.bytes - 1] ^= 1
    damaged = tmp_path / "damaged.heapwright"
    damaged.write_bytes(data)
    trace = heapwright.open(damaged)
    assert [damage.what for damage in trace.damage] == [
        "a table of names is unreadable: a chunk's content is damaged"
    ]
    assert trace.facts().totals.allocations == heapwright.open(copies.original).facts().totals.allocations
    assert all(re.match(r".+\+0x|\(", str(site)) for site in trace.sites())
    said = run_command("explain", damaged, cwd=tmp_path)
    assert said.code == 0, said.err


def test_a_cut_copy_is_cut(copies: Copies, tmp_path: Path) -> None:
    cut = tmp_path / "cut.heapwright"
    cut.write_bytes(copies.original.read_bytes()[:-3000])
    said = run_command("export", cut, "--to", "trace", "-o", "copy", cwd=tmp_path)
    assert said.code == 0, said.err
    before, after = heapwright.open(cut), heapwright.open(tmp_path / "copy")
    assert [damage.what for damage in after.damage] == [damage.what for damage in before.damage]
    assert after.end.reason == "missing"
    said = run_command("export", cut, "--to", "trace", "--anonymize", cwd=tmp_path)
    assert said.code == 2
    assert "only a whole trace can be anonymized" in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "cut.heapwright"]


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    return small_trace().write(tmp_path / "server.heapwright")


def test_it_is_its_owners_alone_and_replaces_nothing(command: Command, trace_file: Path) -> None:
    before = trace_file.read_bytes()
    assert command("export", trace_file, "--to", "trace").code == 0
    copy = trace_file.with_name("server.named.heapwright")
    assert copy.stat().st_mode & 0o777 == 0o600
    said = command("export", trace_file, "--to", "trace")
    assert said.code == 2
    assert "exists; use --force" in said.err
    assert command("export", trace_file, "--to", "trace", "--force").code == 0
    link = trace_file.with_name("link.heapwright")
    link.symlink_to(trace_file)
    for target in (trace_file, link):
        said = command("export", trace_file, "--to", "trace", "--force", "-o", target)
        assert said.code == 2
        assert "is the input of this command" in said.err
    assert trace_file.read_bytes() == before


@pytest.mark.parametrize(
    "options",
    [
        ("--measure", "bytes"),
        ("--table", "event"),
        ("--site", "x"),
        ("--library", "x"),
        ("--from", "1ms"),
        ("--until", "1ms"),
        ("--thread", "0"),
        ("--fleet", "."),
        ("--service", "x"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    command: Command, trace_file: Path, options: tuple[str, str]
) -> None:
    said = command("export", trace_file, "--to", "trace", *options)
    assert said.code == 2
    assert "cannot be used with --to trace" in said.err
    assert len(said.err.strip().splitlines()) == 1


def test_a_file_that_is_no_trace_is_refused(command: Command, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("no trace")
    said = command("export", other, "--to", "trace")
    assert said.code == 2
    assert "is not a heapwright trace" in said.err


def test_it_goes_to_standard_output(command: Command, trace_file: Path, tmp_path: Path) -> None:
    said = command("export", trace_file, "--to", "trace", "-o", "/dev/null", "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["format"] == "trace"


def test_a_full_disk_leaves_nothing(trace_file: Path, tmp_path: Path) -> None:
    said = run_command("export", trace_file, "--to", "trace", "-o", "/dev/full", cwd=tmp_path)
    assert said.code == 2
    assert "no space left" in said.err
