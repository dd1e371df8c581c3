# SPDX-License-Identifier: MIT
"""Names in short. The long forms are what c++filt, rustc and go print for symbols of real programs."""

from __future__ import annotations

import pytest
from heapwright.model.names import MAX_ARGUMENTS, bare_name, short_name
from hypothesis import given
from hypothesis import strategies as st

STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
CPP = [
    ("void std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<int>::push_back"),
    ("decltype(auto) f<int>(int)", "f<int>"),
    ("decltype (fp->x) g<int, char>(int)", "g<int, char>"),
    ("std::enable_if<true, int>::type g<int>(int)", "g<int>"),
    ("auto f<long>(long)", "f<long>"),
    ("int* f<int>(int)", "f<int>"),
    ("void (*get<int>(int))(char)", "get<int>"),
    ("(anonymous namespace)::Cache::fill(int)", "(anonymous namespace)::Cache::fill"),
    ("shop::(anonymous namespace)::Cache<int>::fill(int)", "shop::(anonymous namespace)::Cache<int>::fill"),
    ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()"),
    (f"main::{{lambda({STRING} const&)#2}}::operator()(int) const", "main::{lambda#2}::operator()"),
    ("f(int)::Local::run()", "f::Local::run"),
    ("f(int) const::{lambda()#1}::operator()() const", "f::{lambda#1}::operator()"),
    ("std::function<void (int)>::operator()(int) const", "std::function<void (int)>::operator()"),
    ("operator new(unsigned long)", "operator new"),
    ("operator delete[](void*)", "operator delete[]"),
    ("Foo::operator bool() const", "Foo::operator bool"),
    ("Foo::operator std::vector<int, std::allocator<int> >() const", "Foo::operator std::vector<int>"),
    ("bool operator< <int>(A<int> const&, A<int> const&)", "operator< <int>"),
    ("bool operator<(A const&, A const&)", "operator<"),
    ("A& A::operator->()", "A::operator->"),
    ("long double operator\"\" _km(long double)", "operator\"\" _km"),
    ("Task::operator co_await()", "Task::operator co_await"),
    ("operatorial(int)", "operatorial"),
    ("Foo::name[abi:cxx11](int)", "Foo::name"),
    (f"{STRING}::_M_create(unsigned long&, unsigned long)", "std::string::_M_create"),
    (f"std::map<{STRING}, int, std::less<{STRING} >, std::allocator<std::pair<{STRING} const, int> > >::at(int)",
     "std::map<std::string, int>::at"),
    ("std::unique_ptr<Foo, std::default_delete<Foo> >::~unique_ptr()", "std::unique_ptr<Foo>::~unique_ptr"),
    ("Pool<int, my::allocator<int> >::get()", "Pool<int, my::allocator<int>>::get"),
    ("std::allocator<int>::allocate(unsigned long)", "std::allocator<int>::allocate"),
    ("make<std::allocator<int> >()", "make<std::allocator<int>>"),
    ("Foo<(Kind)3>::run()", "Foo<(Kind)3>::run"),
    ("non-virtual thunk to X::f()", "X::f"),
    ("std::make_unique<char []>(unsigned long)", "std::make_unique<char[]>"),
    ("f<int [2][3], char const* [4]>()", "f<int[2][3], char const*[4]>"),
    ("main", "main"),
    ("libx.so+0x12", "libx.so+0x12"),
]  # fmt: skip
RUST = [
    ("rs::grow::<u8>", "rs::grow::<u8>"),
    ("<alloc::vec::Vec<u8> as core::clone::Clone>::clone", "<Vec<u8> as Clone>::clone"),
    ("<Vec<u8> as Clone>::clone", "<Vec<u8> as Clone>::clone"),
    ("<a::Sq<3> as a::Shape>::area", "<a::Sq<3> as a::Shape>::area"),
    ("a::show::<unsafe extern \"C\" fn(i32) -> i32>", "a::show::<unsafe extern \"C\" fn(i32) -> i32>"),
    ("a::apply::<dyn for<'a> core::ops::function::Fn<(&'a str,), Output = alloc::string::String>>",
     "a::apply::<dyn for<'a> Fn<(&'a str,), Output = String>>"),
    ("<std::collections::hash::map::HashMap<u8, u8> as a::Len>::len", "<HashMap<u8, u8> as a::Len>::len"),
    ("core::slice::<impl [T]>::sort", "core::slice::<impl [T]>::sort"),
    ("<[u8]>::to_vec", "<[u8]>::to_vec"),
    ("a::show::<&mut [u8]>", "a::show::<&mut [u8]>"),
    ("core::ops::function::FnOnce::call_once{{vtable.shim}}", "core::ops::function::FnOnce::call_once{{vtable.shim}}"),
    ("a::main::{closure#0}", "a::main::{closure#0}"),
]  # fmt: skip
GO = [
    ("main.(*Tree).Insert", "main.(*Tree).Insert"),
    ("main.Map[go.shape.int]", "main.Map[go.shape.int]"),
    ("main.main.func1", "main.main.func1"),
]


@pytest.mark.parametrize(("function", "name"), [*CPP, *RUST, *GO])
def test_short_names(function: str, name: str) -> None:
    assert short_name(function) == name


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("Foo<std::pair<int, int> >::bar<x>(int) const", "Foo::bar"),
        ("rs::grow::<u8>", "rs::grow"),
        ("call<int (*)(a) -> b>()", "call"),
        ("bool operator< <int>(A<int> const&, A<int> const&)", "operator< <int>"),
        ("main", "main"),
    ],
)
def test_bare_names(function: str, name: str) -> None:
    assert bare_name(function) == name


def test_long_arguments_are_cut_in_the_middle_and_lose_their_namespaces_first() -> None:
    long = ", ".join(f"shop::parts::Part{number}" for number in range(3))
    assert short_name(f"f<{long}>()") == f"f<{long}>"
    longer = ", ".join(f"shop::parts::Part{number}" for number in range(5))
    assert short_name(f"f<{longer}>()") == "f<Part0, Part1, Part2, Part3, Part4>"
    longest = ", ".join(f"shop::parts::Part{number}" for number in range(50))
    short = short_name(f"f<{longest}>()")
    assert short.startswith("f<Part0, Part1, ")
    assert short.endswith(", Part49>")
    assert len(short) == MAX_ARGUMENTS + len("f<>")


TYPES = st.recursive(
    st.sampled_from(["int", "char*", "a::B", "(anonymous namespace)::C", "4ul", "void (int)"]),
    lambda inner: st.builds("ns::T<{}, {} >".format, inner, inner),
    max_leaves=4,
)


@given(TYPES, TYPES)
def test_different_arguments_stay_different(one: str, other: str) -> None:
    names_of = [short_name(f"void f<{argument}>(int)") for argument in (one, other)]
    if all(len(argument) <= MAX_ARGUMENTS for argument in (one, other)):
        assert (names_of[0] == names_of[1]) == (one == other)
    assert all(name.startswith("f<") and len(name) > len("f<>") for name in names_of)


@given(st.text("abcN:<>()[]{} ,*&~-=#operator new", max_size=60))
def test_no_name_breaks_it(function: str) -> None:
    assert (short_name(function) == "") == (function == "")
    assert isinstance(bare_name(function), str)
