# SPDX-License-Identifier: MIT
"""Exports as DHAT's JSON and as OpenTelemetry's profiles, read by what reads them elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData
from written_traces import Command, small_trace


def export(command: Command, trace_file: Path, form: str, *options: str) -> Path:
    target = trace_file.with_name(f"out.{form}")
    said = command("export", trace_file, "--to", form, "-o", target, *options)
    assert said.code == 0, said.err
    return target


def dhat(command: Command, trace_file: Path, *options: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(export(command, trace_file, "dhat", *options).read_text())
    return document


def test_dhat_by_hand(command: Command, trace_file: Path) -> None:
    document = dhat(command, trace_file)
    assert (document["dhatFileVersion"], document["mode"], document["bkacc"]) == (2, "heap", False)
    assert document["ftbl"][0] == "[root]"
    # The process ends at 10,000,000 ns, the peak is at 1,712.
    assert (document["tg"], document["te"], document["tu"], document["Mtu"]) == (1, 10000, "µs", "s")
    points = {tuple(document["ftbl"][f].split()[1] for f in point["fs"]): point for point in document["pps"]}
    assert set(points) == {
        ("server+0x1000",),
        ("server+0x2000", "server+0x1000"),
        ("server+0x3000", "server+0x1000"),
        ("libc.so.6+0x1000", "server+0x2000", "server+0x1000"),
    }
    leaked = points["server+0x2000", "server+0x1000"]
    del leaked["fs"]
    # Made at 1,616 ns: 9,998,384 ns before the end.
    assert leaked == {
        "tb": 100,
        "tbk": 1,
        "tl": 9998,
        "mb": 100,
        "mbk": 1,
        "gb": 100,
        "gbk": 1,
        "eb": 100,
        "ebk": 1,
    }
    resized = points["libc.so.6+0x1000", "server+0x2000", "server+0x1000"]
    assert [resized[key] for key in ("tb", "tbk", "mb", "mbk", "gb", "eb")] == [550, 2, 500, 1, 0, 0]


def test_no_two_points_have_one_stack(command: Command, trace_file: Path) -> None:
    """The viewer refuses such a file."""
    stacks = [tuple(point["fs"]) for point in dhat(command, trace_file)["pps"]]
    assert len(set(stacks)) == len(stacks)


def test_dhat_of_samples_is_refused(command: Command, tmp_path: Path) -> None:
    made = small_trace()
    made.meta("sample_mean_bytes", 512)
    path = made.write(tmp_path / "sampled.heapwright")
    said = command("export", path, "--to", "dhat")
    assert said.code == 2
    assert "not available from samples" in said.err


def profiles(command: Command, trace_file: Path) -> ProfilesData:
    data = ProfilesData()
    data.ParseFromString(export(command, trace_file, "otlp").read_bytes())
    return data


def names_of(data: ProfilesData, stack: int) -> list[str]:
    tables = data.dictionary
    return [
        tables.string_table[tables.function_table[line.function_index].name_strindex]
        for place in tables.stack_table[stack].location_indices
        for line in tables.location_table[place].lines
    ]


def unknown_fields(message: Any) -> int:
    inner = 0
    for field, value in message.ListFields():
        if field.message_type is not None:
            inner += sum(map(unknown_fields, value if field.is_repeated else [value]))
    return inner + len(UnknownFieldSet(message))


def test_otlp_is_what_its_own_package_reads(command: Command, trace_file: Path) -> None:
    data = profiles(command, trace_file)
    assert unknown_fields(data) == 0
    (resource,) = data.resource_profiles
    attributes = {one.key: one.value for one in resource.resource.attributes}
    assert attributes["service.name"].string_value == "server"
    (scope,) = resource.scope_profiles
    assert scope.scope.name == "heapwright"
    strings = data.dictionary.string_table
    sums = {}
    for profile in scope.profiles:
        name, unit = strings[profile.sample_type.type_strindex], strings[profile.sample_type.unit_strindex]
        sums[name] = sum(sample.values[0] for sample in profile.samples)
        assert (unit == "bytes") == name.endswith("space")
        assert all(len(sample.values) == 1 for sample in profile.samples)
    assert next(iter(sums)) == "peak_space"
    assert {name: sums[name] for name in ("peak_space", "alloc_space", "alloc_objects", "inuse_space")} == {
        "peak_space": 4100,
        "alloc_space": 4714,
        "alloc_objects": 5,
        "inuse_space": 100,
    }
    (largest,) = [sample for sample in scope.profiles[0].samples if sample.values[0] == 4000]
    assert names_of(data, largest.stack_index) == ["server+0x3000", "server+0x1000"]  # the leaf first


def test_otlp_tables_begin_with_nothing_and_hold_every_place(command: Command, trace_file: Path) -> None:
    data = profiles(command, trace_file)
    tables = data.dictionary
    assert tables.string_table[0] == ""
    for table in ("mapping", "location", "function", "link", "attribute", "stack"):
        entries = getattr(tables, f"{table}_table")
        assert entries[0].ByteSize() == 0, table
    for stack in tables.stack_table:
        assert all(0 < place < len(tables.location_table) for place in stack.location_indices)
    for location in tables.location_table[1:]:
        assert location.mapping_index < len(tables.mapping_table)
        assert all(0 < line.function_index < len(tables.function_table) for line in location.lines)
        mapping = tables.mapping_table[location.mapping_index]
        assert mapping.memory_start <= location.address < mapping.memory_limit
    keys = [tables.string_table[one.key_strindex] for one in tables.attribute_table[1:]]
    builds = {
        tables.attribute_table[place].value.string_value
        for mapping in tables.mapping_table
        for place in mapping.attribute_indices
    }
    assert keys.count("process.executable.build_id.gnu") == 2
    assert builds == {"aabbcc", "ddeeff"}
