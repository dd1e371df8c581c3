# SPDX-License-Identifier: MIT
"""Profiles of processes without samples, read by OpenTelemetry's package and by hand."""

from __future__ import annotations

import gzip

from counter_page_bytes import parse, with_contexts
from heapwright.live.page import Page
from heapwright.serve.counted_profile import NO_STACKS, written_sums
from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData
from served_samples import busy_page

Sums = dict[tuple[str, ...], int]


def whole() -> Page:
    """Served 11 requests for 2,100 bytes; 7 blocks, of 1,400 usable bytes, are left."""
    return parse(bytes(busy_page()))._replace(generation=0)


def told(page: Page) -> dict[str, Sums]:
    data = ProfilesData()
    data.ParseFromString(written_sums(page, "otlp"))
    texts, tables = data.dictionary.string_table, data.dictionary

    def stack(index: int) -> tuple[str, ...]:
        places = [tables.location_table[at] for at in tables.stack_table[index].location_indices]
        return tuple(
            texts[tables.function_table[place.lines[0].function_index].name_strindex] for place in places
        )

    (scope,) = data.resource_profiles[0].scope_profiles
    return {
        texts[one.sample_type.type_strindex]: {
            stack(sample.stack_index): sample.values[0] for sample in one.samples
        }
        for one in scope.profiles
    }


def test_all_sums_are_under_one_frame_that_says_how_to_get_stacks() -> None:
    found = told(whole())
    at = (NO_STACKS,)
    assert found["alloc_objects"] == {at: 11}
    assert found["alloc_space"] == {at: 2100}
    assert found["inuse_objects"] == {at: 7}
    assert found["inuse_space"] == {at: 1400}
    text = gzip.decompress(written_sums(whole(), "pprof"))
    assert b"heapwright count --sample" in text
    assert b"inuse_space" in text


def test_a_forked_childs_live_bytes_are_not_known() -> None:
    found = told(whole()._replace(generation=1))
    assert (found["inuse_objects"], found["inuse_space"]) == ({}, {})
    assert found["alloc_space"] == {(NO_STACKS,): 2100}


def test_contexts_are_the_outer_frames() -> None:
    page = with_contexts(busy_page(), {b"GET /cart": (5, 3, 90, 96, 1, 40, 32)})
    found = told(parse(bytes(page))._replace(generation=0))
    assert found["alloc_space"] == {
        (NO_STACKS, "GET /cart"): 90,
        (NO_STACKS, "(no context)"): 2100 - 90,
    }
    assert found["inuse_space"] == {(NO_STACKS,): 1400}
