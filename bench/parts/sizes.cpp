// SPDX-License-Identifier: MIT
// What an empty vector of each library takes, as one JSON object of rows.
#include <absl/container/inlined_vector.h>
#include <llvm/ADT/SmallVector.h>

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <cstdio>
#include <heapwright/small_vector.hpp>
#include <vector>

namespace {

template <class T, unsigned N>
void print_row(const char* elements, const char* end) {
  std::printf(
      "\"%s\": {\"std\": %zu, \"heapwright\": %zu, \"heapwright_compact\": %zu, \"boost\": %zu, "
      "\"abseil\": %zu, \"llvm\": %zu}%s\n",
      elements, sizeof(std::vector<T>), sizeof(heapwright::small_vector<T, N>),
      sizeof(heapwright::compact_vector<T, N>), sizeof(boost::container::small_vector<T, N>),
      sizeof(absl::InlinedVector < T, N == 0 ? 1 : N >), sizeof(llvm::SmallVector<T, N>), end);
}

}  // namespace

int main() {
  std::printf("{");
  print_row<void*, 0>("0 pointers", ",");
  print_row<void*, 1>("1 pointer", ",");
  print_row<void*, 4>("4 pointers", ",");
  print_row<std::int32_t, 1>("1 int", ",");
  print_row<std::uint8_t, 1>("1 byte", ",");
  print_row<std::uint8_t, 7>("7 bytes", ",");
  print_row<std::uint8_t, 16>("16 bytes", "}");
}
