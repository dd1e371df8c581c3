// SPDX-License-Identifier: MIT
// A type's name as the compiler spells it.
#ifndef HEAPWRIGHT_DETAIL_TYPE_NAME_HPP
#define HEAPWRIGHT_DETAIL_TYPE_NAME_HPP

#include <array>
#include <cstddef>
#include <string_view>

#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

// "... spelled_type() [with T = Order]" or "[T = Order]", ended by a zero.
template <class T>
constexpr auto spelled_type() {
  constexpr std::string_view function = __PRETTY_FUNCTION__;
  constexpr std::size_t begin = function.find("T = ") + 4;
  constexpr std::size_t length = function.rfind(']') - begin;
  std::array<char, length + 1> name{};
  for (std::size_t i = 0; i < length; ++i) name[i] = function[begin + i];
  return name;
}

template <class T>
struct type_name {
  static constexpr auto letters = spelled_type<T>();
  static constexpr const char* value = letters.data();
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
