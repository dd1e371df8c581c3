# SPDX-License-Identifier: MIT
"""What the report says of allocators inside programs, and which are known."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from heapwright.explain import nested_words
from heapwright.model import nested
from written_traces import Command

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/explain.md"


def row(
    site: int, allocator: str = "", functions: tuple[str, ...] = ("palloc",), **others: Any
) -> dict[str, Any]:
    said = {"functions": functions, "is_all": True, "allocator": allocator, "is_shared": True, "switch": ""}
    return {"site": site, "name": f"site{site}", "nested": said, **others}


def test_each_allocator_is_told_once() -> None:
    rows = [row(1, "A"), row(2, "A", ("repalloc",)), row(3, "B", ("take",))]
    assert nested_words.notes(rows) == [
        "blocks got through palloc are shared by later callers",
        "blocks got through take are shared by later callers",
    ]
    assert nested_words.notes(rows, rows[1:2]) == ["blocks got through take are shared by later callers"]


def test_a_switch_is_told_and_own_blocks_are_not() -> None:
    switched = row(1, "G")
    switched["nested"]["switch"] = "G_SLICE=always-malloc"
    (said,) = nested_words.notes([switched])
    assert said.endswith("; with G_SLICE=always-malloc each object is one of its own")
    own = row(1, "talloc")
    own["nested"]["is_shared"] = False
    assert nested_words.notes([own, {"site": 2, "name": "plain"}]) == []


def test_only_the_first_site_is_suggested_and_once() -> None:
    first = {"site": 1, "name": "get", "skip": "get", "callers": 9}
    assert nested_words.notes([first, {**first, "site": 2}]) == ["get: --skip get names its 9 callers"]
    assert nested_words.notes([first], [first]) == []


def skip_of(callers: int, share: float, function: str = "give", sizes: tuple[int, int] = (40, 40)) -> str:
    counted = SimpleNamespace(counted=100, p50_bytes=sizes[0], p90_bytes=sizes[1])
    report: Any = SimpleNamespace(facts=SimpleNamespace(site_sizes=[counted]))
    record = {"site": 0, "function": function, "library": "app", "share": share}
    return nested_words.skip_of(report, record, callers)


@pytest.mark.parametrize(
    ("suggested", "given"),
    [
        ("give", (8, 0.51)),
        ("", (7, 0.51)),
        ("", (8, 0.5)),
        ("give", (3, 0.51, "give", (8192, 65536))),
        ("", (3, 0.51, "give", (8192, 65000))),
        ("", (2, 0.51, "give", (8192, 65536))),
        ("chunk_pool", (3, 0.9, "chunk_pool")),
        ("'app\\+0x10'", (8, 0.9, "app+0x10")),
    ],
)
def test_a_site_with_most_of_it_and_many_callers_is_to_be_skipped(suggested: str, given: Any) -> None:
    assert skip_of(*given) == suggested


def test_all_known_allocators_are_in_the_document_and_listed(command: Command) -> None:
    text, listed = DOCUMENT.read_text("utf-8"), command("explain", "--known-allocators").out
    for entry in nested.TABLE:
        (line,) = (line for line in text.splitlines() if line.startswith(f"| {entry.name} |"))
        assert ("shared" in line) == entry.is_shared
        assert entry.switch in line
        assert f"{entry.name}: " in listed and entry.functions in listed


@pytest.mark.parametrize(
    ("allocator", "functions"),
    [
        (
            "PostgreSQL's memory contexts",
            "palloc palloc0 repalloc_huge pstrdup pnstrdup psprintf pvsnprintf AllocSetAlloc",
        ),
        (
            "PostgreSQL's memory contexts",
            "MemoryContextAllocZero SlabAlloc GenerationAlloc BumpAlloc DynaHashAlloc",
        ),
        ("APR's pools", "apr_palloc apr_pcalloc_debug apr_pool_create_ex apr_psprintf apr_allocator_alloc"),
        ("nginx's pools", "ngx_palloc ngx_pnalloc ngx_palloc_block ngx_create_pool ngx_slab_alloc_locked"),
        ("PHP's memory manager", "_emalloc _emalloc_56 _erealloc2 _safe_emalloc _estrdup zend_arena_create"),
        (
            "CPython's pymalloc",
            "PyMem_RawMalloc PyObject_Malloc _PyObject_Realloc pymalloc_alloc _PyObject_GC_New",
        ),
        ("talloc", "talloc_strdup _talloc_zero __talloc_with_prefix talloc tc_alloc_pool"),
        ("GLib's slices and GObject", "g_slice_alloc0 g_type_create_instance g_object_new_valist"),
        ("obstacks", "_obstack_newchunk _obstack_begin call_chunkfun"),
        ("std::pmr resources", "std::pmr::monotonic_buffer_resource::_M_new_buffer acme::Mine::do_allocate"),
        ("SQLite", "sqlite3Malloc sqlite3_malloc64 sqlite3_mprintf sqlite3DbMallocRaw pcache1Alloc"),
        ("libxml2's dictionaries", "xmlDictLookup xmlDictAddString"),
        ("libxml2", "xmlMemMalloc xmlStrndup"),
        (
            "",
            "parse printf emalloc talloc_free _talloc_free do_allocate_all ngx_init_cycle g_slice xmlNewNode",
        ),
        ("", "zend_mm_alloc_pages PyList_New pallocate psql Slab sqlite3_step apr_pool_destroy"),
    ],
)
def test_functions_are_known_by_their_whole_names(allocator: str, functions: str) -> None:
    for function in functions.split():
        found = nested.allocator_of(function)
        assert (found.name if found else "") == allocator, function
