// SPDX-License-Identifier: MIT
// With the std::from_range of C++23, which no standard library here has: a stand-in for it.
#include <version>

#ifndef __cpp_lib_containers_ranges
#define __cpp_lib_containers_ranges 202202L
namespace std {
struct from_range_t {
  explicit from_range_t() = default;
};
inline constexpr from_range_t from_range{};
}  // namespace std
#endif

#include <array>
#include <heapwright/small_vector.hpp>
#include <type_traits>

int main() {
  static_assert(std::is_same_v<heapwright::from_range_t, std::from_range_t>);
  const std::array<int, 3> source{1, 2, 3};
  const heapwright::small_vector fast(std::from_range, source);
  const heapwright::compact_vector<int, 2> compact(std::from_range, source);
  return fast.size() == 3 && compact.back() == 3 ? 0 : 1;
}
