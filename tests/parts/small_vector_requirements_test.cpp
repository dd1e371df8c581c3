// SPDX-License-Identifier: MIT
// What a vector asks of its elements and allocators: no more than std::vector.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "heapwright/small_vector.hpp"

namespace {

using heapwright::compact_vector;
using heapwright::small_vector;

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

}  // namespace
