// SPDX-License-Identifier: MIT
// The hash of a vector, from its elements' hashes in order.
#ifndef HEAPWRIGHT_DETAIL_VECTOR_HASH_HPP
#define HEAPWRIGHT_DETAIL_VECTOR_HASH_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

template <class T>
concept hashable = requires(const T& value) {
  { std::hash<T>()(value) } -> std::convertible_to<std::size_t>;
};

template <class Vector>
struct vector_hash {
  std::size_t operator()(const Vector& vector) const {
    std::uint64_t sum = vector.size();
    for (const auto& element : vector) {
      sum = (sum ^ std::hash<typename Vector::value_type>()(element)) * 0x9e3779b97f4a7c15U;
      sum ^= sum >> 32;
    }
    return sum;
  }
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
