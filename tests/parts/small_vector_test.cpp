// SPDX-License-Identifier: MIT
#include "heapwright/small_vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "throwing_value.hpp"

namespace {

using heapwright::compact_vector;
using heapwright::small_vector;
using heapwright::small_vector_ref;

static_assert(sizeof(small_vector<int, 0>) == 16);
static_assert(sizeof(small_vector<void*, 1>) == sizeof(small_vector<void*, 0>),
              "one pointer inline costs no extra size");
static_assert(sizeof(small_vector<void*, 1>) < sizeof(std::vector<void*>));
static_assert(sizeof(compact_vector<std::uint8_t, 7>) == 8);
static_assert(sizeof(compact_vector<int, 1>) == 8);
static_assert(sizeof(compact_vector<std::string, 0>) == 8);
static_assert(sizeof(small_vector<int>) == 64);
static_assert(std::is_nothrow_move_constructible_v<small_vector<std::string, 2>>);
static_assert(!std::is_nothrow_move_constructible_v<small_vector<parts_test::ThrowingValue<true>, 2>>);
static_assert(std::is_nothrow_move_constructible_v<small_vector<parts_test::ThrowingValue<true>, 0>>);
static_assert(std::contiguous_iterator<small_vector<int>::iterator>);

constexpr int sum_at_compile_time() {
  small_vector<int, 3> v{1, 2, 3, 4};
  v.push_back(5);
  v.insert(v.begin(), 9);
  v.insert(v.begin() + 2, 3, 7);
  v.erase(v.begin() + 1);
  v.resize(12, 1);
  small_vector<int, 3> w = v;
  w.shrink_to_fit();
  v = {};
  v.swap(w);
  w = std::move(v);
  w.assign(w.size(), 2);
  int sum = 0;
  for (const int value : w) sum += value;
  return sum;
}
static_assert(sum_at_compile_time() == 24);
static_assert(small_vector<int, 2>{1, 2} < small_vector<int, 2>{1, 3});
static_assert(small_vector<int, 2>{1, 2} == small_vector<int, 2>{1, 2});

constinit small_vector<int, 4> made_at_compile_time;

struct Node {
  small_vector<Node, 0> children;
  compact_vector<Node, 0> others;
  int number = 0;
};

TEST(SmallVector, RaisesNToFillThePadding) {
  EXPECT_EQ((small_vector<char, 1>().capacity()), 8U);
  EXPECT_EQ((small_vector<int, 1>().capacity()), 2U);
  EXPECT_EQ((small_vector<int, 3>().capacity()), 4U);
  EXPECT_EQ((compact_vector<std::uint8_t, 1>().capacity()), 7U);
  EXPECT_EQ((small_vector<int, 0>().capacity()), 0U);
}

TEST(SmallVector, HoldsInlineUpToNAndSpillsBeyond) {
  small_vector<std::string, 3> v;
  while (v.size() < v.inline_capacity()) {
    v.push_back("s");
    EXPECT_TRUE(v.is_inline());
  }
  v.push_back("s");
  EXPECT_TRUE(v.is_on_heap());
}

TEST(SmallVector, ConstantInitializedVectorUsesItsInlineRoom) {
  EXPECT_GE(made_at_compile_time.capacity(), 4U);
  for (int i = 0; i < 4; ++i) made_at_compile_time.push_back(i);
  EXPECT_TRUE(made_at_compile_time.is_inline());
  EXPECT_EQ(std::accumulate(made_at_compile_time.begin(), made_at_compile_time.end(), 0), 6);
}

TEST(SmallVector, TakesIncompleteTypes) {
  Node root;
  root.children.emplace_back().number = 3;
  root.others.emplace_back().number = 4;
  Node copy = root;
  EXPECT_EQ(copy.children[0].number + copy.others.at(0).number, 7);
}

TEST(SmallVector, AcceptsRanges) {
  std::istringstream words("alpha beta gamma");
  small_vector<std::string, 2> v{std::istream_iterator<std::string>(words), {}};
  EXPECT_EQ(v.back(), "gamma");
  const std::vector<const char*> more = {"x", "y"};
  v.append_range(more);
  v.insert_range(v.begin(), more);
  EXPECT_EQ(v, (small_vector<std::string, 2>{"x", "y", "alpha", "beta", "gamma", "x", "y"}));
  v.assign_range(more);
  EXPECT_EQ(v.size(), 2U);
  const small_vector<std::string, 2> made(heapwright::from_range, more);
  EXPECT_EQ(made, v);
  small_vector<int, 2> numbers = {1, 2, 3, 2};
  EXPECT_EQ(erase(numbers, 2), 2U);
  EXPECT_EQ(erase_if(numbers, [](int n) { return n > 1; }), 1U);
  EXPECT_EQ(numbers.size(), 1U);
}

template <class Vector>
void erase_as_from_a_vector() {
  Vector numbers = {1, 2, 3, 2, 5};
  EXPECT_EQ(std::erase(numbers, 2), 2U);
  EXPECT_EQ(std::erase_if(numbers, [](int n) { return n > 4; }), 1U);
  using std::erase;
  using std::erase_if;
  EXPECT_EQ(erase(numbers, 3), 1U);
  EXPECT_EQ(erase_if(numbers, [](int n) { return n > 1; }), 0U);
  ASSERT_EQ(numbers.size(), 1U);
  EXPECT_EQ(numbers[0], 1);
}

TEST(SmallVector, IsErasedFromByTheStandardsNames) {
  erase_as_from_a_vector<std::vector<int>>();
  erase_as_from_a_vector<small_vector<int, 2>>();
  erase_as_from_a_vector<heapwright::compact_vector<int, 2>>();
  erase_as_from_a_vector<heapwright::tracked_small_vector<int, 2, struct tag_of_erased>>();
  small_vector<int, 2> numbers = {1, 2, 1};
  EXPECT_EQ(std::erase(heapwright::small_vector_ref<int>(numbers), 1), 2U);
  EXPECT_EQ(numbers.size(), 1U);
}

TEST(SmallVector, DeducesItsElement) {
  small_vector letters = {'a', 'b'};
  static_assert(std::is_same_v<decltype(letters)::value_type, char>);
  const std::vector<int> source = {1, 2};
  small_vector copied(source.begin(), source.end());
  EXPECT_EQ(copied.size(), 2U);
}

TEST(SmallVector, PassesItsPmrResourceToElements) {
  std::pmr::monotonic_buffer_resource resource;
  using String = std::pmr::string;
  small_vector<String, 2, std::pmr::polymorphic_allocator<String>> v(&resource);
  v.emplace_back("longer than the small string buffer is");
  v.resize(5);
  v.insert(v.begin(), String("inserted, and longer than the small buffer"));
  for (const String& s : v) EXPECT_EQ(s.get_allocator().resource(), &resource);
  auto other = decltype(v)(std::pmr::new_delete_resource());
  other = std::move(v);
  EXPECT_EQ(other.size(), 6U);
  EXPECT_EQ(other.get_allocator().resource(), std::pmr::new_delete_resource());
  EXPECT_EQ(other[0].get_allocator().resource(), std::pmr::new_delete_resource());
}

TEST(SmallVector, UnequalAllocatorsMoveElements) {
  using Alloc = parts_test::CountingAllocator<std::string>;
  const long blocks = parts_test::HeapCount::blocks;
  {
    small_vector<std::string, 1, Alloc> a(5, "first", Alloc(1));
    small_vector<std::string, 1, Alloc> b(2, "second", Alloc(2));
    b = std::move(a);
    EXPECT_EQ(b.size(), 5U);
    EXPECT_EQ(b.get_allocator().id, 2);
    EXPECT_FALSE(a.is_on_heap());  // NOLINT: its moved-from state is the contract
    const small_vector<std::string, 1, Alloc> c(std::move(b), Alloc(3));
    EXPECT_EQ(c.get_allocator().id, 3);
    EXPECT_EQ(c.size(), 5U);
  }
  EXPECT_EQ(parts_test::HeapCount::blocks, blocks);
}

TEST(SmallVector, AlignsOveralignedElements) {
  struct alignas(64) Line {
    char bytes[64];
  };
  small_vector<Line, 2> v(2);
  compact_vector<Line, 1> c(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(v.data()) % 64, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(c.data()) % 64, 0U);
    v.emplace_back();
    c.emplace_back();
  }
}

TEST(SmallVector, ThrowsAsStdVectorDoes) {
  small_vector<int, 2> v = {1};
  EXPECT_THROW(v.at(1), std::out_of_range);
  EXPECT_THROW(v.reserve(v.max_size() + 1), std::length_error);
  EXPECT_THROW(v.resize(v.max_size() + 1), std::length_error);
  EXPECT_THROW(v.insert(v.begin(), v.max_size(), 1), std::length_error);
  EXPECT_EQ(v.size(), 1U);
}

TEST(SmallVector, ResizesForOverwriting) {
  small_vector<int, 4> pieces;
  int moves = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const int* const before = pieces.data();
    pieces.resize_for_overwrite(i + 1);
    moves += pieces.data() != before;
  }
  EXPECT_LE(moves, 12) << "piece by piece it grows as resize() does";
  small_vector<char, 4> v;
  v.resize_for_overwrite(100);
  std::fill(v.begin(), v.end(), 'x');
  EXPECT_EQ(v.size(), 100U);
  EXPECT_EQ(v.back(), 'x');
}

void append_three(small_vector_ref<int> out) {
  for (int i = 0; i < 3; ++i) out.push_back(i);
  out.insert(out.begin(), 42);
}

TEST(SmallVector, ReferenceErasesN) {
  small_vector<int, 1> one;
  small_vector<int, 100> hundred;
  append_three(one);
  append_three(hundred);
  EXPECT_EQ(one.size(), 4U);
  EXPECT_TRUE(one.is_on_heap());
  EXPECT_TRUE(hundred.is_inline());
  EXPECT_TRUE(std::equal(one.begin(), one.end(), hundred.begin(), hundred.end()));
}

template <class T>
void pushes_into_a_large_buffer_that_holds_few(const T& value) {
  heapwright::small_vector<T, 4> v;
  v.reserve(100);
  const T* const first = v.data();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 9; ++i) v.push_back(value);
    EXPECT_EQ(v.data(), first);
    EXPECT_EQ(std::count(v.begin(), v.end(), value), 9);
    v.clear();
  }
}
TEST(SmallVector, PushesIntoALargeBufferThatHoldsFew) {
  pushes_into_a_large_buffer_that_holds_few(7);
  pushes_into_a_large_buffer_that_holds_few(std::string(40, 'x'));
}

TEST(SmallVector, RelocatesInsideContainers) {
  static_assert(heapwright::is_trivially_relocatable_v<small_vector<int, 4>>);
  small_vector<small_vector<int, 4>, 1> rows;
  for (int i = 0; i < 100; ++i) rows.emplace_back(static_cast<std::size_t>(i % 9), i);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(rows[static_cast<std::size_t>(i)].size(), static_cast<std::size_t>(i % 9));
    for (const int value : rows[static_cast<std::size_t>(i)]) ASSERT_EQ(value, i);
  }
}

struct FieldTag {};

TEST(SmallVector, StatisticsRecommendN) {
  using Tracked = heapwright::tracked_small_vector<int, 2, FieldTag>;
  for (int i = 0; i < 1000; ++i) {
    Tracked v;
    if (i % 2 == 1) v.push_back(1);
    if (i % 100 == 0) v.resize(7);
    v.clear();
    Tracked moved = std::move(v);
  }
  const auto& statistics = Tracked::statistics();
  EXPECT_EQ(statistics.vectors(), 1000U);
  EXPECT_EQ(statistics.at_most(0), 490U);
  EXPECT_EQ(statistics.spilled(2), 10U);
  EXPECT_EQ(statistics.recommended_inline_count(99), 1U);
  EXPECT_EQ(statistics.recommended_inline_count(99.9), 7U);
  EXPECT_EQ(statistics.report().substr(0, 50), "1000 vectors: N=0 covers 49.0 %, N=1 covers 99.0 %");
}

}  // namespace
