// SPDX-License-Identifier: MIT
// The sizes of the elements of which code counts the bytes of an array: `new T[n]` multiplies n by the
// element's size, and compilers let it fail for an n that is too large. Memory that is asked for in bytes has
// neither.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heapwright::symbolize {

// In front of elements that have a destructor: their number.
inline constexpr std::uint64_t array_cookie_bytes = 8;

class ArraySizes {
 public:
  // code: of a function, from its begin to the call of operator new[].
  explicit ArraySizes(std::span<const std::uint8_t> code);

  bool has(std::uint64_t element_bytes) const noexcept;

 private:
  std::vector<std::uint64_t> limits_;  // most elements
  std::vector<std::uint64_t> shifts_;  // the same, for sizes that are powers of two
  std::vector<std::uint64_t> factors_;
};

}  // namespace heapwright::symbolize
