// SPDX-License-Identifier: MIT
// A program that makes too many small allocations (docs/tutorial.md).
//   many_small [inline]
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "heapwright/small_vector.hpp"

// The fields of a line, as positions.
template <typename Fields>
std::size_t sum_of_fields(std::string_view line) {
  Fields fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  std::size_t bytes = 0;
  for (const std::string_view field : fields) bytes += field.size();
  return bytes;
}

int main(int count, char** arguments) {
  const bool is_inline = count > 1 && std::string(arguments[1]) == "inline";
  std::size_t bytes = 0;
  for (unsigned i = 0; i < 200'000; ++i) {
    const std::string line = std::to_string(i) + ",2026-03-01,Rotterdam,42,delivered,none";
    bytes += is_inline ? sum_of_fields<heapwright::small_vector<std::string_view, 8>>(line)
                       : sum_of_fields<std::vector<std::string_view>>(line);
  }
  std::printf("%zu bytes of fields\n", bytes);
}
