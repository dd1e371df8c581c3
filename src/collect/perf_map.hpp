// SPDX-License-Identifier: MIT
// Names of code made at run time, from the map that a language's runtime writes for perf: a line "BEGIN BYTES
// NAME" for each piece of code, its numbers in hexadecimal (docs/decisions/0038-perf-maps.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heapwright::collect {

class PerfMap {
 public:
  // Longer lines name nothing.
  static constexpr std::size_t most_line_bytes = 4096;
  // Of lines with addresses that are asked for: a map with more is not one of a runtime.
  static constexpr std::uint64_t most_hits = 1U << 24U;

  // `addresses`: those to be named.
  explicit PerfMap(std::vector<std::uint64_t> addresses);

  // The next part of the file. Only lines that end with a newline count: the last one may be half written.
  void add(std::string_view text);

  // Code that was there; with an empty name its place has none any more. As a line of the file says it.
  void add_code(std::uint64_t begin, std::uint64_t bytes, std::string_view name);

  // Empty: the map has no name for it, or several, of code that was there one after the other.
  std::string_view name_at(std::uint64_t address) const;

 private:
  void add_line(std::string_view line);

  static constexpr std::uint32_t unnamed = 0xffffffffU;
  static constexpr std::uint32_t ambiguous = 0xfffffffeU;

  std::vector<std::uint64_t> addresses_;  // ascending
  std::vector<std::uint32_t> name_of_;    // by address: an index into names_, or one of the above
  std::vector<std::string> names_;
  std::string line_;  // begun in an earlier part
  std::uint64_t hits_ = 0;
};

}  // namespace heapwright::collect
