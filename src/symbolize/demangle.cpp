// SPDX-License-Identifier: MIT
#include "symbolize/demangle.hpp"

#include <cxxabi.h>
#include <demangle.h>  // libiberty

#include <array>
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace heapwright::symbolize {
namespace {

// A mangled name can expand to a text exponentially longer than itself.
constexpr std::size_t max_mangled_bytes = 8192;
constexpr std::size_t max_demangled_bytes = 65536;

bool is_clone_suffix(std::string_view suffix) {
  constexpr std::array<std::string_view, 7> clones = {"cold",     "part",  "constprop", "isra",
                                                      "lto_priv", "clone", "llvm"};
  for (const auto clone : clones) {
    if (suffix.starts_with(clone)) return true;
  }
  return false;
}

std::string without_clone_suffix(const std::string& symbol) {
  for (std::size_t dot = symbol.find('.', 1); dot != std::string::npos; dot = symbol.find('.', dot + 1)) {
    if (is_clone_suffix(std::string_view(symbol).substr(dot + 1))) return symbol.substr(0, dot);
  }
  return symbol;
}

// The demangler's output, up to the limit. The demangler cannot be told to stop, so we jump over its frames,
// which own nothing.
struct BoundedText {
  std::string text;
  std::jmp_buf too_long{};
};

void add_to_text(const char* part, std::size_t size, void* opaque) {
  auto& bounded = *static_cast<BoundedText*>(opaque);
  if (size > max_demangled_bytes - bounded.text.size()) std::longjmp(bounded.too_long, 1);
  bounded.text.append(part, size);
}

// Both mangling schemes, without hashes. Empty: not a Rust name.
std::string demangle_rust(const std::string& symbol) {
  BoundedText bounded;
  if (setjmp(bounded.too_long) != 0) return {};
  if (rust_demangle_callback(symbol.c_str(), 0, add_to_text, &bounded) == 0) return {};
  return std::move(bounded.text);
}

}  // namespace

std::string demangle(const std::string& symbol) {
  // Dynamic symbols include their version: malloc@@GLIBC_2.2.5.
  std::string name = without_clone_suffix(symbol.substr(0, symbol.find('@', 1)));
  if (name.size() > max_mangled_bytes) return name;
  if (name.starts_with("_R")) {
    const std::string text = demangle_rust(name.substr(0, name.find('.')));
    return text.empty() ? name : text;
  }
  if (!name.starts_with("_Z")) return name;
  if (std::string text = demangle_rust(name); !text.empty()) return text;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return name;
  return std::string(std::string_view(text.get()).substr(0, max_demangled_bytes));
}

}  // namespace heapwright::symbolize
