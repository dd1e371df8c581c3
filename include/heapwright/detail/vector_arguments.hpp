// SPDX-License-Identifier: MIT
// Argument types of the vectors: ranges, iterator pairs, shrink policy.
#ifndef HEAPWRIGHT_DETAIL_VECTOR_ARGUMENTS_HPP
#define HEAPWRIGHT_DETAIL_VECTOR_ARGUMENTS_HPP

#include <concepts>
#include <cstddef>
#include <iterator>
#include <ranges>

#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

// Stands for std::from_range_t, which libstdc++ 12 does not have.
#if defined(__cpp_lib_containers_ranges)
using std::from_range;
using std::from_range_t;
#else
struct from_range_t {
  explicit from_range_t() = default;
};
inline constexpr from_range_t from_range{};
#endif

// shrink_if_wasteful() shrinks when less than `used_percent` of the capacity is used
// and at least `slack_bytes` would be saved. It leaves `headroom_percent` beyond the
// size, so that growing and shrinking by a few elements does not allocate each time.
struct shrink_policy {
  unsigned used_percent = 50;
  unsigned headroom_percent = 25;
  std::size_t slack_bytes = 256;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

template <class A>
concept allocator_like = requires(A alloc) {
  typename A::value_type;
  alloc.allocate(std::size_t{1});
};

template <class It>
concept vector_input = std::input_iterator<It>;

// std::ranges::subrange, which clang 14 cannot compile from libstdc++ 12.
template <class It>
struct iterator_pair {
  It first;
  It last;
  constexpr It begin() const { return first; }
  constexpr It end() const { return last; }
};

template <class Range>
inline constexpr bool is_iterator_pair = false;
template <class It>
inline constexpr bool is_iterator_pair<iterator_pair<It>> = true;

// Range elements must convert to T, as in the standard; those of an iterator pair
// must construct it.
template <class Range, class T>
concept vector_range = std::ranges::input_range<Range> &&
    (std::convertible_to<std::ranges::range_reference_t<Range>, T> ||
     (is_iterator_pair<Range> && std::constructible_from<T, std::ranges::range_reference_t<Range>>));

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
