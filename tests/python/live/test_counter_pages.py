# SPDX-License-Identifier: MIT
# length: pages, their folder, and what is wrong with either
"""Pages of counters: their layout as documented, sums, and files that are none."""

import mmap
import os
import re
from pathlib import Path

import pytest
from counter_page_bytes import (
    make_apply_page,
    make_heap_page,
    make_page,
    parse,
    put,
    table_at,
    with_contexts,
    write,
)
from heapwright.live import figures, pages
from heapwright.live.document import describe_calls
from heapwright.live.layout import BIN_COUNT, CONSTANTS, FIELDS, bin_edges
from heapwright.live.page import MAX_PAGE_BYTES, PageError, UnfinishedPageError, parse_page, read_page
from heapwright.live.processes import has_mapped
from heapwright.model.native import counters_bin_of
from hypothesis import given
from hypothesis import strategies as st

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "counters.md"
SECTION = CONSTANTS["head_bytes"]


def test_the_document_has_the_offsets_of_the_headers() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    parts = {
        "Head": "head",
        "Section of the calls": "calls",
        "Table of calls": "table",
        "Row of a context": "context",
    }
    for heading, part in parts.items():
        body = text.split(f"## {heading}\n")[1].split("\n## ")[0]
        documented = {
            name: int(offset) for offset, name in re.findall(r"^\| (\d+) \| (\w+)", body, re.MULTILINE)
        }
        assert documented == {name: offset for name, (offset, _) in FIELDS[part].items()}, heading


@given(st.integers(0, 2**41 - 1))
def test_a_value_lies_within_the_edges_of_its_bin(value: int) -> None:
    first, behind = bin_edges(counters_bin_of(value))
    assert first <= value < behind


def test_bins_follow_each_other() -> None:
    assert all(bin_edges(index)[1] == bin_edges(index + 1)[0] for index in range(BIN_COUNT - 1))


def test_tables_are_added_up() -> None:
    data = make_page(3)
    for index, calls in enumerate((1, 20, 300)):
        put(data, "table", "calls", calls, table_at(index), index=0)
        put(data, "table", "calls", calls // 2, table_at(index), index=5)
        put(data, "table", "requested_bytes", calls * 100, table_at(index))
        put(data, "table", "sizes", calls, table_at(index), index=9)
    calls = parse(data).calls
    assert calls is not None
    assert (calls.by_function["malloc"], calls.by_function["free"]) == (321, 160)
    assert calls.requested_bytes == 32_100
    assert calls.sizes[9] == 321
    assert figures.live_blocks(calls) == 161
    assert calls.calls_while_reading == 0


@given(st.data())
def test_damaged_pages_are_refused_in_one_line_or_read(data: st.DataObject) -> None:
    page = make_page(2)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.one_of(st.integers(0, SECTION + 300), st.integers(0, len(page) - 1)))
        page[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(page)), st.integers(0, len(page))))
    try:
        calls = parse(bytes(page[:cut])).calls
    except PageError as error:
        assert "\n" not in str(error)
    else:
        if calls is not None:
            describe_calls(calls)


@given(st.sampled_from(sorted(FIELDS["calls"])), st.integers(0, 2**64 - 1))
def test_lying_fields_lead_nowhere(field: str, value: int) -> None:
    page = make_page(2)
    offset, size = FIELDS["calls"][field]
    page[SECTION + offset : SECTION + offset + min(size, 8)] = value.to_bytes(8, "little")[: min(size, 8)]
    try:
        calls = parse(bytes(page)).calls
    except PageError as error:
        assert "\n" not in str(error)
    else:
        assert calls is not None
        assert calls.program.isprintable()


@pytest.mark.parametrize(
    ("part", "field", "start"),
    [("head", "version", 0), ("section", "version", FIELDS["head"]["sections"][0])],
)
def test_other_versions_are_named(part: str, field: str, start: int) -> None:
    page = make_page()
    put(page, part, field, 99, start)
    with pytest.raises(PageError, match="version 99, this heapwright reads"):
        parse(bytes(page))


def test_more_tables_than_a_writer_has_are_refused() -> None:
    page = make_page(CONSTANTS["max_call_tables"] + 1)
    with pytest.raises(PageError, match="have another format"):
        parse(bytes(page))
    assert parse(bytes(make_page(CONSTANTS["max_call_tables"]))).calls


def test_tables_kept_for_others_are_not_read() -> None:
    page = make_page(4)
    put(page, "calls", "keeper", 77, SECTION)
    put(page, "calls", "keeper_start_ticks", 5, SECTION)
    ends: list[int] = []

    def read(start: int, count: int) -> bytes:
        ends.append(start + count)
        return bytes(page[start : start + count])

    assert parse_page("page", len(page), read, (77, 5)).calls
    ends.clear()
    with pytest.raises(PageError, match="kept for another"):
        parse_page("page", len(page), read, (77, 6))
    assert max(ends) <= table_at(0)


def test_a_file_whose_name_begins_like_the_pages_is_not_the_page(tmp_path: Path) -> None:
    with (tmp_path / "page.calls.1").open("w+b") as file:
        file.write(bytes(4096))
        file.flush()
        with mmap.mmap(file.fileno(), 4096):
            assert has_mapped(os.getpid(), str(tmp_path / "page.calls.1"))
            assert not has_mapped(os.getpid(), str(tmp_path / "page.calls"))


def test_a_page_has_another_name_in_another_root(tmp_path: Path) -> None:
    with (tmp_path / "in the other root").open("w+b") as file:
        file.write(bytes(4096))
        file.flush()
        (tmp_path / "page.calls").hardlink_to(tmp_path / "in the other root")
        with mmap.mmap(file.fileno(), 4096):
            assert has_mapped(os.getpid(), str(tmp_path / "page.calls"))
        assert not has_mapped(os.getpid(), str(tmp_path / "page.calls"))


def test_the_page_of_a_new_image_is_not_taken_for_the_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    path = tmp_path / "heapwright-1234.calls"

    def page_of(started_ns: int) -> bytearray:
        page = make_page()
        put(page, "calls", "started_ns", started_ns, SECTION)
        put(page, "calls", "keeper", 7, SECTION)
        return page

    listed = read_page(write(path, page_of(1)))
    path.rename(tmp_path / "heapwright-1234.calls.1")  # as the new image does
    write(path, page_of(2))
    assert pages.take(listed, 1) is None
    left = pages.pages_kept_for(7, 0)
    assert {page.calls.started_ns for page in left if page.calls} == {1, 2}
    for number, page in enumerate(left, 2):
        taken = pages.take(page, number)
        assert taken and taken.calls and page.calls
        assert taken.calls.started_ns == page.calls.started_ns
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_is_still_made_is_no_damage() -> None:
    page = make_page()
    put(page, "head", "magic", 0)
    for data in (b"", bytes(50), bytes(page)):
        with pytest.raises(UnfinishedPageError):
            parse(data)


def test_what_is_no_plain_file_of_ours_is_not_opened(tmp_path: Path) -> None:
    good = write(tmp_path / "good", make_page())
    assert read_page(good).process == 1234
    link = tmp_path / "link"
    link.symlink_to(good)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, MAX_PAGE_BYTES + 1)
    for path in (link, fifo, tmp_path, large, tmp_path / "gone", Path("/dev/zero")):
        with pytest.raises(PageError):
            read_page(str(path))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_another_users_page_is_not_read() -> None:
    path = pages.FOLDER / f"heapwright-test-{os.getpid()}"  # a folder that everybody may enter
    write(path, make_page())
    path.chmod(0o644)
    child = os.fork()
    if child == 0:
        os.seteuid(65534)
        try:
            read_page(str(path))
        except PageError as error:
            os._exit(0 if "belongs to user 0" in str(error) else 2)
        except BaseException:
            os._exit(3)
        os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    path.unlink()
    assert code == 0


def test_a_page_under_anothers_name_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    write(tmp_path / f"heapwright-{os.getpid()}.calls", make_page(process=1))
    found = pages.find_pages()
    assert found.pages == []
    assert "it says that it is of process 1" in found.problems[0]


def test_only_what_dead_processes_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    nobody = 2**22 + 5  # no process has an id above 2^22
    waited_for = make_page(process=nobody)
    put(waited_for, "calls", "keeper", os.getpid(), SECTION)
    young = tmp_path / f"heapwright-{nobody + 1}.calls"
    files = {
        tmp_path / f"heapwright-{nobody}.calls": make_page(process=nobody),
        tmp_path / f"heapwright-{nobody}.calls.1": waited_for,
        tmp_path / f"heapwright-{nobody}": b"not a page",
        tmp_path / f"heapwright-{nobody}.1": b"not a page",
        tmp_path / "heapwright-notes.txt": b"somebody's",
        tmp_path / "other": b"",
        young: make_page(process=nobody + 1),
    }
    for path, data in files.items():
        write(path, data)
        if path != young:
            os.utime(path, (0, 0))
    assert pages.find_pages() == ([], [], 0)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == sorted(["heapwright-notes.txt", f"heapwright-{nobody}.calls.1", "other", young.name])


def test_pages_of_the_dead_hide_no_living_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a forking server leaves them for its `count`: they are not read, and nobody's."""
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    nobody = 2**22 + 5
    for number in range(300):
        page = make_page(process=nobody + number)
        put(page, "calls", "keeper", os.getpid(), SECTION)
        write(tmp_path / f"heapwright-{nobody + number}.calls", page)
    own = make_page(process=os.getpid())
    write(tmp_path / f"heapwright-{os.getpid()}.calls", own)
    read = []
    monkeypatch.setattr(pages, "read_page", lambda path: read.append(path) or read_page(path))
    monkeypatch.setattr(pages, "is_living", lambda _: True)
    found = pages.find_pages(5.0)
    assert [page.process for page in found.pages] == [os.getpid()]
    assert (found.problems, found.unread, len(read)) == ([], 0, 1)
    assert len(list(tmp_path.iterdir())) == 301


def test_pages_of_the_dead_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    nobody = 2**22 + 5
    for process, keeper in ((nobody, 7), (nobody + 1, 8), (os.getpid(), 7)):
        page = make_page(process=process)
        put(page, "calls", "keeper", keeper, SECTION)
        write(tmp_path / f"heapwright-{process}.calls", page)
    assert [page.process for page in pages.ended_pages_kept_for((7, 0), 1)] == [nobody]
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {f"heapwright-{nobody + 1}.calls", f"heapwright-{os.getpid()}.calls"}


def heap_page(sequence: int) -> bytearray:
    data = make_heap_page()
    put(data, "head", "sequence", sequence)
    at = CONSTANTS["head_bytes"]
    put(data, "heap", "purged_bytes", 512, at)
    put(data, "heap", "dirty_bytes", 1024, at)
    put(data, "heap", "summed_reasons", 77, at, index=CONSTANTS["remote_free"])
    put(data, "heap", "pool_lock", 5, at)
    return data


def test_a_heap_page_is_read() -> None:
    heap = parse(heap_page(4)).heap
    assert heap is not None
    assert (heap.contended, heap.purged_bytes, heap.dirty_bytes, heap.remote_frees) == (5, 512, 1024, 77)


def test_sums_that_are_half_written_are_not_known() -> None:
    """Of a process that was stopped while it wrote them; what is counted at once is told of."""
    heap = parse(heap_page(5)).heap
    assert heap is not None
    assert (heap.dirty_bytes, heap.remote_frees) == (None, None)
    assert (heap.contended, heap.purged_bytes) == (5, 512)


def test_sums_are_read_again_until_they_are_of_one_moment() -> None:
    data = heap_page(4)
    looks = 0

    def read(start: int, count: int) -> bytes:
        nonlocal looks
        found = bytes(data[start : start + count])
        if start == CONSTANTS["head_bytes"]:
            looks += 1
            if looks < 3:
                put(data, "head", "sequence", 4 + 2 * looks)
                put(data, "heap", "dirty_bytes", 1024 + looks, start)
        return found

    heap = parse_page("page", len(data), read).heap
    assert heap is not None
    assert (looks, heap.dirty_bytes) == (3, 1026)


def test_a_page_of_remedies_is_read() -> None:
    page = parse(make_apply_page())
    assert (page.calls, page.heap) == (None, None)
    assert page.remedies == (
        ("segregate@site0", *range(100, 109)),
        ("segregate@site1", *range(101, 110)),
    )


def test_a_remedy_without_a_site_has_no_row() -> None:
    data = make_apply_page()
    data[CONSTANTS["head_bytes"] + CONSTANTS["remedies_bytes"]] = 0
    remedies = parse(data).remedies
    assert remedies and [one.remedy for one in remedies] == ["segregate@site1"]


@pytest.mark.parametrize(("field", "value"), [("row_count", 17), ("row_bytes", 8), ("rows_offset", 1 << 31)])
def test_damaged_rows_of_remedies_are_refused(field: str, value: int) -> None:
    data = make_apply_page()
    put(data, "remedies", field, value, CONSTANTS["head_bytes"])
    with pytest.raises(PageError, match="rows of remedies"):
        parse(data)


def test_contexts_are_read_by_name() -> None:
    long = b"x" * 120  # without an end
    data = with_contexts(
        make_page(), {b"cart": (5, 3, 90, 96, 1, 40, 32), b"a\x1b": (1,), b"a\x1c": (2, 1), long: (7,)}
    )
    calls = parse(data).calls
    assert calls is not None
    assert calls.contexts == {
        "cart": (5, 3, 90, 96, 1, 40, 32),
        "a\ufffd": (3, 1, 0, 0, 0, 0, 0),
        "x" * 120: (7, 0, 0, 0, 0, 0, 0),
    }


@pytest.mark.parametrize(
    ("field", "value"), [("row_count", 257), ("row_bytes", 8), ("rows_offset", 1 << 31), ("row_count", 9)]
)
def test_damaged_rows_of_contexts_are_refused(field: str, value: int) -> None:
    page = make_page()
    data = with_contexts(page, {b"cart": (5, 3, 90, 96, 1, 40, 32)})
    put(data, "contexts", field, value, len(page))
    with pytest.raises(PageError, match="rows of contexts"):
        parse(data)
