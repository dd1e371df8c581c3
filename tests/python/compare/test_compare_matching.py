# SPDX-License-Identifier: MIT
"""Which call sites are the same in two builds."""

from __future__ import annotations

from heapwright.compare.matching import NO_NAME, Key, Known, keys_of
from heapwright.model import Location


def at(function: str, file: str = "", line: int = 0, library: str = "shop") -> Location:
    return Location(function, file, line, False, library)


def keys(
    a: list[Location], b: list[Location], build_a: str = "a1", build_b: str = "b2", program_b: str = "shop"
) -> tuple[list[Key], list[Key]]:
    """As the one recording of each side."""

    def known(locations: list[Location], build: str, program: str) -> Known:
        builds = {program: frozenset({build}), "libz.so.1": frozenset({"same"})}
        return Known(locations, builds, program)

    (found_a,), (found_b,) = keys_of([[known(a, build_a, "shop")], [known(b, build_b, program_b)]])
    return found_a, found_b


def test_of_one_build_every_line_is_a_site_of_its_own() -> None:
    places = [at("parse", "a.cpp", 1), at("parse", "a.cpp", 2), at("shop+0x10")]
    a, b = keys(places, places, "same", "same")
    assert a == b
    assert len(set(a)) == 3


def test_of_one_build_an_address_is_a_site_whatever_the_copy_is_called() -> None:
    a, b = keys([at("shop+0x10")], [at("copy+0x10", library="copy")], "same", "same", "copy")
    assert a == b
    a, b = keys([at("shop+0x10")], [at("shop+0x11")], "same", "same")
    assert a != b


def test_lines_move_and_files_are_renamed() -> None:
    a, b = keys([at("parse(char*)", "old/a.cpp", 10)], [at("parse(char*)", "new/b.cpp", 99)])
    assert a == b


def test_static_functions_of_two_files_stay_apart_while_the_files_do() -> None:
    a, b = keys(
        [at("init()", "x.cpp", 1), at("init()", "y.cpp", 1)],
        [at("init()", "y.cpp", 9), at("init()", "x.cpp", 9)],
    )
    assert a == b[::-1]
    assert a[0] != a[1]
    a, b = keys([at("init()", "x.cpp", 1)], [at("init()", "z.cpp", 1)])
    assert a == b


def test_template_arguments_are_kept() -> None:
    a, b = keys([at("make<int>()"), at("make<long>()")], [at("make<long>()"), at("make<char>()")])
    assert a[1] == b[0]
    assert a[0] not in b
    long = "std::map<std::string, std::vector<std::pair<int, std::array<long, {}>>>>"
    one, other = (at(f"make<{long.format(size)}>(int)") for size in (10, 20))
    a, b = keys([one], [other])
    assert a != b


def test_parameters_may_change_where_one_function_has_the_name() -> None:
    a, b = keys([at("parse(int)")], [at("parse(long)")])
    assert a == b
    a, b = keys([at("parse(int)")], [at("parse(long)"), at("parse(char*)")])
    assert a[0] not in b


def test_of_an_inlined_function_the_namespace_may_be_missing() -> None:
    a, b = keys([at("shop::(anonymous namespace)::total(int)")], [at("total")])
    assert a == b
    a, b = keys([at("one::total(int)")], [at("other::total(int)")])  # two functions that say whose they are
    assert a != b
    a, b = keys([at("one::total(int)"), at("other::total(int)")], [at("total")])
    assert b[0] not in a


def test_a_compiler_copies_of_a_function_are_the_function() -> None:
    a, b = keys([at("parse(int) [clone .constprop.0]"), at("fill.part.0")], [at("parse(int)"), at("fill")])
    assert a == b


def test_libraries_without_their_versions() -> None:
    (one,), (two,) = keys_of(
        [
            [Known([at("open", library="libfoo-1.2.so.3")], {"libfoo-1.2.so.3": frozenset({"x"})}, "shop")],
            [Known([at("open", library="libfoo-1.3.so.4")], {"libfoo-1.3.so.4": frozenset({"y"})}, "shop")],
        ]
    )
    assert one == two
    a, b = keys([at("open", library="libz.so.1")], [at("open", library="liby.so.1")])
    assert a != b


def test_without_symbols_a_rebuilt_library_is_one_site() -> None:
    a, b = keys(
        [at("shop+0x10"), at("shop+0x20"), at("libz.so.1+0x10", library="libz.so.1")], [at("shop+0x30")]
    )
    assert a[0] == a[1] == b[0] == Key("", NO_NAME)
    assert a[2].function == "+0x10"  # its build is the same


def test_a_build_without_an_id_is_matched_by_name() -> None:
    a, b = keys([at("parse(int)", "a.cpp", 1)], [at("parse(int)", "a.cpp", 5)], "", "")
    assert a == b


def test_what_a_stripped_build_cannot_name_is_neither_gone_nor_new() -> None:
    a, b = keys([at("parse", "a.cpp", 1), at("load", "a.cpp", 9)], [at("shop+0x10"), at("shop+0x20")])
    assert set(a) == set(b) == {Key("", NO_NAME)}
    a, b = keys([at("parse"), at("load")], [at("shop+0x10"), at("load")])
    assert a[1] == b[1] == Key("", "load"), "what it does name stands beside its like"
    assert a[0] == Key("", "parse")


def test_of_one_build_a_side_with_fewer_symbols_is_matched_by_function() -> None:
    def known(locations: list[Location], source: int) -> Known:
        return Known(locations, {"shop": frozenset({"same"})}, "shop", {"shop": source})

    places = [at("parse(char*)", "a.cpp", 1), at("parse(char*)", "a.cpp", 2), at("load", "a.cpp", 9)]
    (a,), (b,) = keys_of([[known(places, 3)], [known([at("parse(char*)"), at("load")], 2)]])
    assert a == [Key("", "parse(char*)"), Key("", "parse(char*)"), Key("", "load")]
    assert b == [Key("", "parse(char*)"), Key("", "load")]
    (a,), (b,) = keys_of([[known(places, 3)], [known([at("shop+0x10"), at("shop+0x20")], 0)]])
    assert {*a, *b} == {Key("", NO_NAME)}
    (a,), (b,) = keys_of([[known(places, 3)], [known([at("load"), at("shop+0x20")], 1)]])
    assert {*a, *b} == {Key("", NO_NAME)}, "it names what is exported alone"
    (a,), (b,) = keys_of([[known(places, 3)], [known(places[:1], 3)]])
    assert len({*a, *b}) == 3
