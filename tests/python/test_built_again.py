# SPDX-License-Identifier: MIT
"""The rules of what is built again each time and of small deques, and the price beside a bound."""

from types import SimpleNamespace as Made
from typing import Any

from heapwright.explain.advice import built_again, containers, reused_buffer, small_deque, words
from heapwright.explain.advice.evidence import FirstOfDeques


def built_again_site(**of: Any) -> Any:
    """A million blocks of 100 bytes, two of them at once, in a run of a second."""
    usual = {"allocations": 10**6, "freed": 10**6, "lifetime_sum_ns": 10**9, "freed_by_other_thread": 0}
    usual |= {"own_peak_bytes": 200, "temporaries": 0, "reallocs": 0, "bytes": 10**8}
    site = Made(**{**usual, **of})
    return Made(
        candidates=lambda _: [7],
        site=lambda _: site,
        times_over=lambda _: site.bytes / site.own_peak_bytes,
        made_by=lambda _: of.get("made_by", ""),
        container=lambda _: (of.get("container", ""), 1.0),
        control_blocks={},
        growths={},
        sizes_in_words=lambda _: "",
        time_of=lambda _: 10**8,
        facts=Made(totals=Made(span_ns=10**9)),
    )


def test_what_is_built_again_each_time_is_kept() -> None:
    (advice,) = built_again._find(built_again_site())
    assert (advice.sites, advice.action) == ((7,), "")
    assert advice.time_ns == int(10**8 * (1 - 2 / 10**6)), "all but those of what is kept"
    (of_regex,) = built_again._find(built_again_site(made_by="std::regex", temporaries=9 * 10**5))
    assert "blocks of std::regex" in of_regex.pattern and "static const" in of_regex.action
    (of_nodes,) = built_again._find(built_again_site(container="list"))
    assert "without nodes" in of_nodes.action, "a pool for each list would take more than these"
    (thrown,) = built_again._find(built_again_site(made_by="an exception"))
    assert "instead of throwing" in thrown.action
    for other in (
        {"temporaries": 9 * 10**5},  # reused_buffer
        {"container": "map", "own_peak_bytes": 10**5},  # node_pool
        {"reallocs": 6 * 10**5},  # reserve
        {"freed": 9 * 10**5},
        {"freed_by_other_thread": 10**5},
        {"own_peak_bytes": 10**6},  # a hundred times over
        {"lifetime_sum_ns": 2 * 10**13},  # 20 ms each
    ):
        assert list(built_again._find(built_again_site(**other))) == [], other


def test_functions_of_regexes_streams_and_deques_are_known() -> None:
    def location(function: str, file: str = "") -> Any:
        return Made(function=function, file=file)

    maker_of, makes_deque = containers.maker_of, containers.makes_deque
    assert (
        maker_of(location("std::__detail::_Compiler<std::__cxx11::regex_traits<char> >::_M_atom()"))
        == "std::regex"
    )
    assert maker_of(location("_M_insert_state", "/usr/include/c++/12/bits/regex_automaton.h")) == "std::regex"
    stream = "std::__cxx11::basic_stringbuf<char, std::char_traits<char> >::overflow(int)"
    assert maker_of(location(stream)) == "a string stream"
    assert maker_of(location("std::vector<int>::push_back(int&&)", "stl_vector.h")) == ""
    assert maker_of(location("__cxa_allocate_exception")) == "an exception"
    assert maker_of(location("std::runtime_error::runtime_error(std::string const&)")) == "an exception"
    assert maker_of(location("std::system_category()")) == ""
    assert makes_deque(
        location("std::_Deque_base<int, std::allocator<int> >::_M_initialize_map(unsigned long)")
    )
    assert not makes_deque(location("std::deque<int>::_M_push_back_aux<int>(int&&)"))


def test_deques_that_hold_one_block_each_are_told() -> None:
    def found(first: int, blocks: int) -> Any:
        of: Any = Made(
            candidates=lambda _: [7],
            site=lambda _: Made(live_at_peak_blocks=blocks),
            first_of_deques=lambda _: FirstOfDeques(first, first * 288),
            lost_bytes_each=lambda _: 8.0,
        )
        return list(small_deque._find(of))

    (advice,) = found(4000, 4000)
    assert "2,000 std::deques hold one block each, 576 B" in advice.pattern
    assert advice.bytes == 4000 * 296
    assert found(4000, 9000) == [], "most hold more"
    assert found(1000, 1000) == [], "few"


def test_a_price_in_memory_that_a_replay_saw_stands_beside_a_bound() -> None:
    """A buffer of 48 MiB grown by realloc: the setting could spare 188 ms, and took 83 % more memory."""
    more = {"figure": "peak", "unit": "bytes", "difference": 39.2 * (1 << 20), "verdict": "worse"}
    more |= {"relative_difference": 0.83, "resolution": 0.0}
    row = {"judged": "bound", "replayed": [more]}
    assert words.price(row) == ", at a price, by replay: peak +83 % (+39.2 MiB)"
    assert words.price({**row, "judged": "measured"}) == "", "said with the gain"
    assert words.price({**row, "replayed": [more | {"verdict": "same"}]}) == ""
    assert words.price({**row, "replayed": [more | {"figure": "end"}]}) == ""


def temporaries(container: str, least: int, most: int, is_cpp: bool = True) -> Any:
    """A million blocks, each freed before the next one is made."""
    site = Made(temporaries=10**6, allocations=10**6, freed=10**6)
    return Made(
        candidates=lambda _: [7],
        site=lambda _: site,
        sizes=lambda _: Made(min_bytes=least, max_bytes=most, p99_bytes=most),
        sizes_in_words=lambda _: "",
        container=lambda _: (container, 1.0),
        is_cpp=lambda _: is_cpp,
        time_of=lambda _: 10**8,
    )


def test_what_is_no_array_gets_no_vector() -> None:
    """make_unique of a lock, and the string that a lookup in a map needs, were to become small_vectors."""

    def told(*of: Any) -> tuple[str | None, str]:
        (advice,) = reused_buffer._find(temporaries(*of))
        return advice.part, advice.action

    part, action = told("", 16, 16)
    assert (part, "a local object" in action) == ("", True)
    part, action = told("string", 31, 33)
    assert (part, "std::string_view" in action) == ("", True)
    assert told("", 16, 400) == told("vector", 40, 40) == told("", 16, 16, False) == (None, "")
    assert told("", 5000, 5000) == (None, ""), "too large for a local"
