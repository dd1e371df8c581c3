# SPDX-License-Identifier: MIT
"""What the names of a stack, and of a virtual table, say of a block; names as compilers wrote them."""

import pytest
from heapwright.model.block_types import of_all_stacks, of_stack, of_virtual_table
from heapwright.model.symbols import Location
from hypothesis import given
from hypothesis import strategies as st

STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
PAIR = f"std::pair<{STRING} const, Plain>"


def of_functions(*functions: str) -> str:
    """Of a stack of these, innermost first; a frame each."""
    parents, frames = [0], [0]
    for number in reversed(range(len(functions))):
        parents.append(len(parents) - 1)
        frames.append(number)
    return of_stack(
        len(frames) - 1, parents, frames, lambda frame: [Location(functions[frame], "", 0, False, "")]
    )


@pytest.mark.parametrize(
    ("functions", "expected"),
    [
        (
            ["operator new(unsigned long)", "std::__new_allocator<std::_List_node<Plain> >::allocate(unsigned long)"],
            "node of std::list<Plain>",
        ),
        ([f"{STRING}::_M_mutate(unsigned long, unsigned long)"], "text of std::string"),
        (
            [
                "std::__new_allocator<Plain>::allocate(unsigned long, void const*)",
                "std::_Vector_base<Plain, std::allocator<Plain> >::_M_allocate(unsigned long)",
            ],
            "elements of std::vector<Plain>",
        ),
        (
            [f"std::_Rb_tree<{STRING}, {STRING}, std::_Identity<{STRING} >, std::less<{STRING} > >::_M_get_node()"],
            "node of std::set<std::string>",
        ),
        ([f"std::__new_allocator<std::_Rb_tree_node<{PAIR} > >::allocate()"], "node of std::map<std::string, Plain>"),
        (
            [f"std::_Hashtable<{STRING}, {PAIR}, std::allocator<{PAIR} > >::_M_insert_unique_node(unsigned long)"],
            "node of std::unordered_map<std::string, Plain>",
        ),
        (
            [f"std::_Hashtable<{STRING}, {PAIR}, std::allocator<{PAIR} > >::_M_rehash(unsigned long)"],
            "buckets of an unordered container",
        ),
        (
            ["std::__new_allocator<std::__detail::_Hash_node_base*>::allocate(unsigned long, void const*)"],
            "buckets of an unordered container",
        ),
        (["std::__detail::_MakeUniq<Admin>::__single_object std::make_unique<Admin>()"], "Admin"),
        (["std::shared_ptr<Plain> std::make_shared<Plain>()"], "shared Plain"),
        (
            ["void std::_Function_base::_Base_manager<main::{lambda()#1}>::_M_create<main::{lambda()#1}>()"],
            "state of a std::function: main::{lambda()#1}",
        ),
        (["std::__1::vector<Plain>::__push_back_slow_path<Plain>(Plain&&)"], "elements of std::vector<Plain>"),
        (
            ["std::__1::__tree<std::__1::__value_type<int, Plain>, Less>::__emplace_unique()"],
            "node of std::map<int, Plain>",
        ),
        (["std::__new_allocator<Plain>::allocate(unsigned long)", "pool_of(int)"], "Plain"),
        (["pool_of(int)", "std::vector<Plain>::push_back(Plain&&)"], ""),
        (["alloc::raw_vec::RawVec<T,A>::grow_one", "main"], ""),
        (["std::thread::_M_start_thread(std::unique_ptr<std::thread::_State>)"], ""),
        (["operator new(unsigned long)"], ""),
    ],
)  # fmt: skip
def test_names_of_a_stack_tell_the_type(functions: list[str], expected: str) -> None:
    assert of_functions(*functions) == expected


NAMES = [
    "main",
    "operator new(unsigned long)",
    "std::__new_allocator<Plain>::allocate(unsigned long)",
    "std::_Vector_base<Plain, std::allocator<Plain> >::_M_allocate(unsigned long)",
    f"{STRING}::_M_mutate(unsigned long, unsigned long)",
    "std::__throw_bad_alloc()",
]


@given(st.lists(st.tuples(st.integers(0, 30), st.lists(st.sampled_from(NAMES), max_size=3)), max_size=30))
def test_all_stacks_at_once_are_as_each_alone(rows: list[tuple[int, list[str]]]) -> None:
    parents = [0, *(min(parent, number) for number, (parent, _) in enumerate(rows))]
    frames = [0, *range(len(rows))]

    def locations(frame: int) -> list[Location]:
        return [Location(name, "", 0, False, "") for name in rows[frame][1]]

    each = [of_stack(stack, parents, frames, locations) for stack in range(len(parents))]
    made = dict.fromkeys(range(0, 31, 3), "Made")
    each = [said or made.get(frame, "") for said, frame in zip(each, frames, strict=True)]
    assert of_all_stacks(parents, frames, locations, made) == each


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Session", "Session"),
        ("shop::(anonymous namespace)::Cart", "shop::(anonymous namespace)::Cart"),
        (
            "std::_Sp_counted_ptr_inplace<Plain, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>",
            "shared Plain",
        ),
        ("std::_Sp_counted_ptr<Plain*, (__gnu_cxx::_Lock_policy)2>", "owner of a shared Plain*"),
    ],
)
def test_a_virtual_table_tells_the_class(name: str, expected: str) -> None:
    assert of_virtual_table(name) == expected
