// SPDX-License-Identifier: MIT
// What a vector asks of its elements, allocators and ranges, and what it
// promises of them: no more and no less than std::vector.
#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "heapwright/small_vector.hpp"
#include "throwing_value.hpp"

namespace {

using heapwright::compact_vector;
using heapwright::small_vector;
using heapwright::tracked_small_vector;

template <class T>
struct NarrowAllocator : std::allocator<T> {
  NarrowAllocator() = default;
  template <class U>
  NarrowAllocator(const NarrowAllocator<U>&) noexcept {}
  template <class U>
  struct rebind {
    using other = NarrowAllocator<U>;
  };
  std::size_t max_size() const noexcept { return 5; }
};

template <class V>
void keeps_the_allocators_limit() {
  V v = {1, 2};
  EXPECT_EQ(v.max_size(), 5U);
  EXPECT_THROW(v.reserve(6), std::length_error);
  EXPECT_THROW(v.insert(v.begin(), 4, 7), std::length_error);
  EXPECT_EQ(v, (V{1, 2}));
  for (int i = 3; i <= 5; ++i) v.push_back(i);
  EXPECT_THROW(v.push_back(6), std::length_error);
  EXPECT_THROW(v.emplace(v.begin(), 0), std::length_error);
  EXPECT_EQ(v, (V{1, 2, 3, 4, 5}));
}
TEST(SmallVectorRequirements, KeepTheAllocatorsLimit) {
  keeps_the_allocators_limit<small_vector<int, 1, NarrowAllocator<int>>>();
  keeps_the_allocators_limit<compact_vector<int, 0, NarrowAllocator<int>>>();
  small_vector<int, 8, NarrowAllocator<int>> roomy(8, 1);  // what lies inline needs no allocator
  EXPECT_THROW(roomy.push_back(2), std::length_error);
  EXPECT_EQ(roomy.size(), 8U);
}

struct NotSwappable {
  explicit NotSwappable(std::string t) : text(std::move(t)) {}
  NotSwappable(NotSwappable&&) = default;
  NotSwappable& operator=(NotSwappable&&) = delete;
  std::string text;
};
void swap(NotSwappable&, NotSwappable&) = delete;

template <class V>
std::string texts(const V& v) {
  std::string all;
  for (const auto& element : v) all += element.text + " ";
  return all;
}

// std::vector's swap asks nothing of its elements.
template <class V>
void swaps_what_cannot_be_swapped() {
  const std::string long_text = "a text that is too long for the string itself";
  for (std::size_t few = 0; few < 6; ++few) {
    V a, b;
    std::string in_a, in_b;
    for (std::size_t i = 0; i < few; ++i) in_a += a.emplace_back(long_text + "a").text + " ";
    for (std::size_t i = 0; i < 2; ++i) in_b += b.emplace_back(long_text + "b").text + " ";
    a.swap(b);
    EXPECT_EQ(texts(a), in_b) << few;
    EXPECT_EQ(texts(b), in_a) << few;
  }
}
TEST(SmallVectorRequirements, SwapWhatCannotBeSwapped) {
  swaps_what_cannot_be_swapped<small_vector<NotSwappable, 3>>();
  swaps_what_cannot_be_swapped<compact_vector<NotSwappable, 3>>();
}

// Without inline elements the element may be incomplete wherever std::vector's may.
struct Json {
  std::variant<double, small_vector<Json, 0>, compact_vector<Json, 0>> value;
};
struct Branch {
  std::optional<small_vector<Branch, 0>> kids;
  std::optional<compact_vector<Branch, 0>> others;
  Branch() = default;
  Branch(Branch&&) noexcept = default;
  Branch& operator=(Branch&&) noexcept = default;
};
struct Later;
static_assert(std::is_nothrow_move_constructible_v<small_vector<Later, 0>>);
static_assert(std::is_nothrow_move_assignable_v<compact_vector<Later, 0>>);
static_assert(std::is_nothrow_swappable_v<small_vector<Later, 0>>);
struct Later {};

TEST(SmallVectorRequirements, TakeIncompleteElementsInVariantAndOptional) {
  Json list;
  list.value = small_vector<Json, 0>(2);
  Json copy = list;
  copy = std::move(list);
  EXPECT_EQ((std::get<small_vector<Json, 0>>(copy.value).size()), 2U);
  Branch branch;
  branch.kids.emplace().emplace_back().others.emplace();
  const Branch moved = std::move(branch);
  EXPECT_TRUE(moved.kids->front().others.has_value());
}

struct OnlyEqual {
  int number;
  bool operator==(const OnlyEqual&) const = default;
};
static_assert(std::equality_comparable<small_vector<OnlyEqual, 2>>);
static_assert(!std::three_way_comparable<small_vector<OnlyEqual, 2>>);
static_assert(!std::totally_ordered<heapwright::small_vector_ref<const OnlyEqual>>);
static_assert(std::totally_ordered<heapwright::small_vector_ref<const int>>);

template <class V, class Range>
concept takes = requires(V v, Range range) {
  v.append_range(range);
  v.insert_range(v.begin(), range);
  v.assign_range(range);
  V(heapwright::from_range, range);
};
template <class V, class Range>
concept takes_one_way = requires(V v, Range range) {
  v.append_range(range);
}
|| requires(V v, Range range) { v.insert_range(v.begin(), range); }
|| requires(V v, Range range) { v.assign_range(range); }
|| std::is_constructible_v<V, heapwright::from_range_t, Range>;
static_assert(takes<small_vector<long, 2>, std::array<int, 3>>);
static_assert(!takes_one_way<small_vector<std::vector<int>, 2>, std::array<int, 3>>,
              "that would be 3 vectors");
static_assert(!takes_one_way<compact_vector<std::unique_ptr<int>, 2>, std::vector<int*>>);

TEST(SmallVectorRequirements, PairsOfIteratorsCallExplicitConstructors) {
  const std::array<int, 3> sizes = {1, 2, 3};
  small_vector<std::vector<int>, 2> v(sizes.begin(), sizes.end());
  v.assign(sizes.begin(), sizes.end());
  v.insert(v.begin(), sizes.begin(), sizes.end());
  EXPECT_EQ(v.size(), 6U);
  EXPECT_EQ(v[2].size(), 3U);
}

struct ExplicitCopy {
  explicit ExplicitCopy(int n) : number(n) {}
  explicit ExplicitCopy(const ExplicitCopy&) = default;
  ExplicitCopy& operator=(const ExplicitCopy&) = default;
  int number;
};
TEST(SmallVectorRequirements, CopyWhatIsCopiedExplicitly) {
  small_vector<ExplicitCopy, 2> v;
  v.emplace_back(1);
  small_vector<ExplicitCopy, 2> copy;
  copy = v;
  small_vector<ExplicitCopy, 5> larger;
  larger = v;
  EXPECT_EQ(copy[0].number + larger[0].number, 2);
}

// As those of libstdc++'s own tests.
template <class Base>
struct NoComma : Base {
  NoComma() = default;
  explicit NoComma(Base from) : Base(from) {}
  NoComma& operator++() {
    Base::operator++();
    return *this;
  }
  NoComma operator++(int) {
    NoComma before = *this;
    ++*this;
    return before;
  }
  template <class T>
  friend void operator,(const NoComma&, const T&) = delete;
  template <class T>
  friend void operator,(const T&, const NoComma&) = delete;
};
template <class T>
struct Input {  // throws behind `last`
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;
  int number = 0;
  int last = 0;
  T operator*() const {
    if (number > last) throw std::runtime_error("the source ends");
    return T(number);
  }
  Input& operator++() {
    ++number;
    return *this;
  }
  Input operator++(int) {
    Input before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Input& other) const { return number == other.number; }
};

TEST(SmallVectorRequirements, TakeIteratorsWithoutComma) {
  std::list<int> list = {1, 2, 3};
  const NoComma<std::list<int>::iterator> first(list.begin());
  const NoComma<std::list<int>::iterator> last(list.end());
  small_vector<int, 4> v(first, last);
  v.assign(first, last);
  v.insert(v.begin(), first, last);
  EXPECT_EQ(v, (small_vector<int, 6>{1, 2, 3, 1, 2, 3}));
  v.assign(NoComma<Input<int>>(Input<int>{1, 9}), NoComma<Input<int>>(Input<int>{3, 9}));
  EXPECT_EQ(v, (small_vector<int, 6>{1, 2}));
}

template <class V>
void adds_all_or_nothing() {
  using value_type = typename V::value_type;
  struct Range {
    Input<value_type> begin() const { return {5, 8}; }
    Input<value_type> end() const { return {99, 8}; }
  };
  V v;
  for (int i = 1; i < 4; ++i) v.emplace_back(i);
  const V before = v;
  EXPECT_THROW(v.append_range(Range()), std::runtime_error);
  EXPECT_EQ(v, before);
  EXPECT_THROW(v.insert_range(v.begin() + 1, Range()), std::runtime_error);
  EXPECT_EQ(v, before);
  EXPECT_THROW(v.insert(v.begin() + 1, Range().begin(), Range().end()), std::runtime_error);
  EXPECT_EQ(v, before);
}
TEST(SmallVectorRequirements, AddInputRangesAllOrNothing) {
  adds_all_or_nothing<small_vector<int, 2>>();
  adds_all_or_nothing<small_vector<parts_test::ThrowingValue<false>, 9>>();
  adds_all_or_nothing<compact_vector<int, 9>>();
}

template <class V>
concept assigns_itself = requires(V v, std::initializer_list<int> list, small_vector<int, 9> other,
                                  compact_vector<int, 9> compact) {
  { v = list } -> std::same_as<V&>;
  { v = other } -> std::same_as<V&>;
  { v = std::move(compact) } -> std::same_as<V&>;
  {
    v = {}
    } -> std::same_as<V&>;
};
static_assert(assigns_itself<small_vector<int, 2>> && assigns_itself<compact_vector<int, 2>>);
static_assert(assigns_itself<tracked_small_vector<int, 2, struct assigned>>);
static_assert(!std::is_assignable_v<small_vector<int, 2>&, small_vector<long, 2>>);
static_assert(!std::is_assignable_v<small_vector<int, 2>&, std::vector<int>>);

}  // namespace
