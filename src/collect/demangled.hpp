// SPDX-License-Identifier: MIT
// Names of symbols as in the source.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace heapwright::collect {

// The symbol itself if it is not mangled.
inline std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  std::string found = status == 0 && text != nullptr ? text.get() : symbol;
  constexpr std::string_view tag = "[abi:cxx11]";
  const std::size_t place = found.find(tag);
  if (place != std::string::npos) found.erase(place, tag.size());
  return found;
}

}  // namespace heapwright::collect
