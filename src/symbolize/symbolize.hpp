// SPDX-License-Identifier: MIT
// Turns the program counters of a trace into functions, files and lines, including inlined calls, by the
// objects' ELF and DWARF data. If the trace has names inside, those are used.
//
// It never fails as a whole: an object that is missing, replaced by another build, stripped or broken is
// named in `objects`, and its frames read "libfoo.so.1+0x1234".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbolize/symbols.hpp"
#include "trace/records.hpp"

namespace heapwright::symbolize {

// Stores each distinct string once; [0] is the empty string.
class StringTable {
 public:
  StringTable();
  std::uint32_t add(std::string_view text);
  std::vector<std::string> take() noexcept { return std::move(strings_); }

 private:
  std::vector<std::string> strings_;
  std::unordered_map<std::string, std::uint32_t> index_;
};

Symbols symbolize(std::span<const trace::Module> modules, std::span<const trace::Frame> frames,
                  const Options& options);

}  // namespace heapwright::symbolize
