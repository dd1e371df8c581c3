# SPDX-License-Identifier: MIT
"""What is a call site and what only stands between it and the allocator."""

from __future__ import annotations

import pytest
from heapwright.model.plumbing import is_allocator, is_plumbing
from heapwright.model.symbols import Location
from hypothesis import given
from hypothesis import strategies as st


def at(function: str, library: str = "app", file: str = "") -> Location:
    return Location(function, file, 1, False, library)


@pytest.mark.parametrize(
    "location",
    [
        at("malloc"),
        at("operator new(unsigned long)"),
        at("operator new[](unsigned long, std::nothrow_t const&)", "libstdc++.so.6"),
        at("std::vector<int, std::allocator<int> >::push_back(int const&)"),
        at("void std::vector<Thing>::_M_realloc_insert<Thing const&>(Thing const&)"),
        at("__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)"),
        at("alloc::raw_vec::RawVec<T>::grow"),
        at("<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc"),
        at("__rustc::__rust_alloc"),
        at("<alloc::string::String as core::clone::Clone>::clone"),
        at("fopen", "libc.so.6"),
        at("anything", "libjemalloc.so.2"),
        at("hook", "libheapwright-record.so"),
        at("heapwright::unchecked_annotated::node_pool::add_page(unsigned long)"),
        at("heapwright::checked::arena::next_block(unsigned long)"),
        at("zmalloc"),
        at("ngx_memalign"),
        at("llvm::User::operator new(unsigned long, unsigned int)"),
        at("char* pool::xmalloc<a::b>(int)"),
        at("sqlite3DbMallocRaw"),
        at("xstrdup"),
        at("PyMem_Malloc"),
        at("x264_malloc"),
        at("g_malloc0"),
        at("MemoryContextAllocZero"),
        at("palloc.part.0"),
        at("runtime.asmcgocall.abi0"),
        at("github.com/mattn/go-sqlite3._Cfunc_sqlite3_step.abi0"),
        at("main._cgo_cmalloc.abi0"),
        at("_cgo_fa3513721dd4_Cfunc_grab"),
        at("crosscall2"),
        at("_cgoexp_fa3513721dd4_goBack"),
        at("std::pmr::synchronized_pool_resource::do_allocate(unsigned long, unsigned long)"),
        at("anything", file="/usr/include/c++/12/bits/stl_vector.h"),
    ],
)
def test_plumbing(location: Location) -> None:
    assert is_plumbing(location)


@pytest.mark.parametrize(
    "location",
    [
        at("main"),
        at("Parser::parse(std::string const&)"),
        at("std::vector<int> shop::load<int>(int)"),
        at("shop::List<std::vector<int> >::add(int)"),
        at("allocate_buffers"),
        at("standard::thing()"),
        at("freeze"),
        at("heapwright::collect::Collector::run()"),
        at("operator==(Thing const&, Thing const&)"),
        at("libpqxx::connect()", "libpqxx.so"),
        at("(anonymous namespace)::Cache::fill()"),
        at("app+0x1234"),
        at("zend_mm_chunk_alloc"),
        at("_PyObject_ArenaMmap"),
        at("emulate_palloc"),
        at("main.cgocall"),
        at("main.crosscall2"),
        at("runtime.newm"),
        at("main.my_Cfunc"),
    ],
)
def test_call_sites(location: Location) -> None:
    assert not is_plumbing(location)


def test_only_allocators_can_never_stand_in() -> None:
    assert is_allocator(at("__libc_malloc"))
    assert not is_allocator(at("fopen", "libc.so.6"))
    assert not is_allocator(at("free_list_add"))


@given(st.text("abcN:<>() ,*&~operator new", max_size=60))
def test_no_name_breaks_it(function: str) -> None:
    is_plumbing(at(function))
