# SPDX-License-Identifier: MIT
"""What a notebook shows of traces, findings and answers, and what completion offers."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import heapwright
import pytest
from heapwright import notebook
from written_traces import small_trace


class Words(HTMLParser):
    """The elements that are open at the end, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.depth, self.names, self.text = 0, set[str](), ""
        self.feed(html)

    def handle_starttag(self, name: str, _attributes: object) -> None:
        self.depth += 1
        self.names.add(name)

    def handle_endtag(self, _name: str) -> None:
        self.depth -= 1

    def handle_data(self, text: str) -> None:
        self.text += f"{text} "


def words(shown: object) -> Words:
    found = Words(shown._repr_html_())  # type: ignore[attr-defined]
    assert found.depth == 0
    return found


def test_a_trace_shows_what_it_is_of(tmp_path: Path) -> None:
    trace = heapwright.open(
        small_trace().meta("command", "./<b>server</b> -x").write(tmp_path / "a.heapwright")
    )
    found = words(trace)
    assert found.names == {"table", "tr", "th", "td"}
    assert "./<b>server</b> -x" in found.text and "threads 2 " in found.text
    assert "missing" not in found.text
    assert repr(trace) == f"<Trace of /opt/shop/server, {trace.event_count} calls: {trace.path}>"
    made = small_trace()
    made.has_end = False
    assert "some are missing" in words(heapwright.open(made.write(tmp_path / "cut.heapwright"))).text


def test_findings_and_answers_are_those_of_explain(trace: heapwright.Trace) -> None:
    found = notebook.findings(trace)
    assert [one["text"] for one in found.data["findings"]]
    for one in found.data["findings"]:
        assert one["text"][1:] in words(found).text
        assert one["question"] in repr(found)
    peak = notebook.answer(trace, "peak", top=1)
    assert len(peak.data["sites"]) == 1
    assert {"table", "thead", "tbody"} <= words(peak).names
    assert "server+0x3000" in repr(peak) and "server+0x3000" in words(peak).text
    assert "There is none" in repr(notebook.answer(trace, "phases"))
    small = notebook.answer(trace, "volume", heapwright.Filter(min_size_bytes=4000))
    assert [site["name"] for site in small.data["sites"]] == ["server+0x3000"]
    with pytest.raises(ValueError, match=r"^no question pek; known: timeline, peak,"):
        notebook.answer(trace, "pek")


def test_completion_offers_what_there_is_to_use() -> None:
    assert dir(heapwright) == sorted([*heapwright.__all__, "notebook"])
    for name in dir(heapwright):
        assert getattr(heapwright, name) is not None
