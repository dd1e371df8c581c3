# SPDX-License-Identifier: MIT
"""What the page is made of: packed numbers, call paths, the bridge, HTML without a hole."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import heapwright
import pytest
from heapwright import explain as explaining
from heapwright import page
from heapwright.explain import slow_calls
from heapwright.page import assemble, call_paths, head, packing
from heapwright.report.markup import Markup, joined, tag
from hypothesis import given
from hypothesis import strategies as st
from written_traces import MALLOC, MadeTrace, small_trace

HOSTILE = "</script><script>alert(1)</script>\"'&<!--"


def numbers_of(data: bytes) -> Iterator[int]:
    """The same numbers, read by another way: bytes below 128 end one."""
    for digits in re.findall(rb"[\x80-\xff]*[\x00-\x7f]", data):
        yield sum((byte & 127) << 7 * place for place, byte in enumerate(digits))


def report_of(path: Path) -> explaining.Report:
    trace = heapwright.open(path)
    facts = trace.begin_facts(wants_activity=True).take()
    return explaining.Report(trace, facts, trace.sites(), heapwright.Filter(), 10)


@pytest.fixture
def report(tmp_path: Path) -> explaining.Report:
    return report_of(small_trace().write(tmp_path / "small.heapwright"))


def rendered(report: explaining.Report, max_bytes: int = page.MAX_BYTES) -> str:
    return page.render(report, explaining.explain(report), max_bytes)


def data_of(html: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


def packed_of(html: str) -> bytes:
    found = re.search(r'<script type="text/plain" id="packed">(.*?)</script>', html, re.DOTALL)
    assert found
    return zlib.decompress(base64.b64decode(found[1]), -15)


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_numbers_are_read_as_they_were_written(values: list[int]) -> None:
    pack = packing.Pack()
    for value in values:
        pack.number(value)
    assert list(numbers_of(bytes(pack.data))) == values


@given(st.lists(st.integers(-(2**60), 2**60)))
def test_signed_numbers_as_well(values: list[int]) -> None:
    pack = packing.Pack()
    for value in values:
        pack.signed(value)
    assert [-(n + 1) // 2 if n % 2 else n // 2 for n in numbers_of(bytes(pack.data))] == values


def test_texts_are_escaped_and_markup_is_not() -> None:
    assert tag("b", HOSTILE, title='"') == (
        '<b title="&quot;">&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;&amp;&lt;!--</b>'
    )
    assert joined(Markup("<i>"), "<i>") == "<i>&lt;i&gt;"


def test_a_leafs_rows_sum_up_to_its_sites_figures(report: explaining.Report) -> None:
    paths = call_paths.CallPaths(report, 10**6)
    numbers = numbers_of(bytes(call_paths.pack_bins(report, paths.leaf_of, len(paths.leaves)).pack.data))
    sums: dict[int, list[int]] = {}
    for leaf in paths.leaves:
        for _ in range(next(numbers)):
            next(numbers)
            row = [next(numbers) for _ in range(4)]
            grown = -(row[3] + 1) // 2 if row[3] % 2 else row[3] // 2
            sums[leaf.site] = [
                a + b for a, b in zip(sums.get(leaf.site, [0] * 4), [*row[:3], grown], strict=True)
            ]
    assert next(numbers, None) is None
    for site in report.sites:
        facts = report.facts.sites[site.number]
        number = paths.site_number(site.number)
        if facts.allocations:
            expected = [facts.allocations, facts.bytes, facts.allocator_ns, facts.live_at_end_bytes]
            assert sums[number] == expected


def test_small_paths_are_put_together_and_nothing_is_lost(tmp_path: Path) -> None:
    made = small_trace()
    for number in range(40):
        made.event(MALLOC, 0x100000 + 4096 * number, 10 + number, stack=2 + number % 3)
    report = report_of(made.write(tmp_path / "more.heapwright"))
    paths = call_paths.CallPaths(report, 1)
    assert paths.cutoff > 0
    numbers = numbers_of(bytes(call_paths.pack_bins(report, paths.leaf_of, len(paths.leaves)).pack.data))
    calls = 0
    for _ in paths.leaves:
        for _ in range(next(numbers)):
            _, allocations, _, _, _ = (next(numbers) for _ in range(5))
            calls += allocations
    assert calls == report.facts.totals.allocations


def test_the_page_is_made_smaller_until_it_fits_and_says_so(tmp_path: Path) -> None:
    made = small_trace()
    for number in range(3000):
        made.line("frame", 0x401000 + 8 * number, 0)
        made.line("stack", 1, 4 + number)
    for number in range(3000):
        made.event(MALLOC, 0x100000 + 4096 * number, 10 + number, stack=5 + number)
    report = report_of(made.write(tmp_path / "large.heapwright"))
    whole = rendered(report)
    limit = len(whole.encode()) - 20_000
    smaller = rendered(report, limit)
    assert len(smaller.encode()) <= limit
    assert "are combined" not in whole
    assert re.search(r"Call paths with less than [<0-9.]+ % of every measure are combined", unescape(smaller))


class Elements(HTMLParser):
    """Names of the elements, and the attributes that fetch or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.fetches: list[str] = []
        self.handlers: list[str] = []
        self.styles = 0

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names.append(name)
        for key, value in attributes:
            if key in ("src", "href", "action", "data") and not (value or "").startswith(("#", "data:,")):
                self.fetches.append(f"{name} {key}={value}")
            if key.startswith("on"):
                self.handlers.append(f"{name} {key}")
            self.styles += key == "style"


def test_nothing_is_fetched_and_only_the_pages_own_script_runs(report: explaining.Report) -> None:
    html = rendered(report)
    elements = Elements()
    elements.feed(html)
    assert elements.fetches == [] and elements.handlers == [] and elements.styles == 0
    assert elements.names.count("script") == 3
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy
    assert "default-src 'none'" in policy[1].replace("&#x27;", "'")
    assert "unsafe" not in policy[1]


def test_the_slow_calls_tables_have_their_titles(report: explaining.Report) -> None:
    html = rendered(report)
    titles = [
        table.title for table in slow_calls.QUESTION.tables if table.key in ("by_size", "by_site", "calls")
    ]
    assert [html.index(f"<h3>{title}</h3>") for title in titles] and all(titles)


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    made = MadeTrace().meta("program", "/opt/" + "x" * 10_000).meta("command", "evil")
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/<b>lib<script>'x.so", "aabbcc")
    made.line("thread", 0, 100, "<i>&'</script>", 0, 0).line("frame", 0x401000, 0).line("stack", 0, 0)
    made.event(MALLOC, 0x1000, 100, stack=1)
    html = rendered(report_of(made.write(tmp_path / "hostile.heapwright")))
    elements = Elements()
    elements.feed(html)
    assert elements.names.count("script") == 3
    assert "<i>&'" not in html and "<script>'x.so" not in html
    assert "<i>&'</script> #0" in data_of(html)["threads"]  # type: ignore[operator]
    assert any("<script>'x.so" in name for name in data_of(html)["names"])  # type: ignore[union-attr]


def test_findings_are_words_of_the_terminal_and_need_no_script(report: explaining.Report) -> None:
    document = explaining.explain(report)
    first = unescape(re.sub(r"<[^>]*>", "", head.first(document["summary"], document["questions"])))
    for finding in document["summary"]["findings"]:
        assert finding["text"] in first


def test_the_heaviest_finding_is_the_headline_and_is_not_said_again(report: explaining.Report) -> None:
    document = explaining.explain(report)
    texts = ("80 calls of malloc_trim(0) took 3 ms", "2,000 blocks pin 94 MiB", "one more")
    questions = ("slow_calls", "cause", "time")
    findings = [
        {"question": q, "text": t, "parts": [], "naming": ""} for q, t in zip(questions, texts, strict=True)
    ]
    html = head.first(document["summary"] | {"findings": findings}, document["questions"])
    headline, rest = html.split("</h1>")
    assert "<b>2,000</b> blocks pin <b>94 MiB</b>." in headline  # resident memory before all else
    assert rest.startswith('<p class="go"><a')  # its evidence
    assert "2,000" not in rest and rest.count("<li>") == 2
    assert "<b>80</b> calls of malloc_trim(0) took <b>3 ms</b>" in rest


def test_a_headline_begins_with_a_capital_unless_it_is_code(report: explaining.Report) -> None:
    document = explaining.explain(report)

    def headline(text: str) -> str:
        findings = [{"question": "time", "text": text, "parts": [], "naming": ""}]
        html = head.first(document["summary"] | {"findings": findings}, document["questions"])
        return html.split("</h1>")[0]

    assert headline("two calls").endswith("Two calls.")
    assert headline("grow_table holds two blocks").endswith("grow_table holds two blocks.")


def test_the_packed_parts_begin_where_the_document_says(report: explaining.Report) -> None:
    html = rendered(report)
    data, raw = data_of(html), packed_of(html)
    begins = list(data["begins"].values())  # type: ignore[attr-defined]
    assert begins == sorted(begins) and begins[-1] <= len(raw)
    nodes = list(numbers_of(raw[begins[0] : begins[1]]))
    assert len(nodes) == 3 * data["counts"]["nodes"]  # type: ignore[index]
    parents = nodes[0::3]
    assert all(parent < node for node, parent in enumerate(parents) if node)


@pytest.mark.skipif(shutil.which("node") is None, reason="apt-get install nodejs")
def test_the_script_is_whole() -> None:
    done = subprocess.run(
        ["node", "--check", "-"], input=assemble._script(), text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
