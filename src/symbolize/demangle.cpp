// SPDX-License-Identifier: MIT
#include "symbolize/demangle.hpp"

#include <cxxabi.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "symbolize/demangle_rust.hpp"

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

// Rust's legacy scheme is C++'s with a hash as the last component and
// escapes such as $LT$ inside the names.
std::string unescape_rust(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> escapes = {{{"$SP$", "@"},
                                                                                      {"$BP$", "*"},
                                                                                      {"$RF$", "&"},
                                                                                      {"$LT$", "<"},
                                                                                      {"$GT$", ">"},
                                                                                      {"$LP$", "("},
                                                                                      {"$RP$", ")"},
                                                                                      {"$C$", ","},
                                                                                      {"$u7b$", "{"},
                                                                                      {"$u7d$", "}"},
                                                                                      {"$u20$", " "},
                                                                                      {"..", "::"}}};
  std::string plain;
  if (text.starts_with("_$")) text.remove_prefix(1);
  while (!text.empty()) {
    std::size_t taken = 0;
    for (const auto& [escape, meaning] : escapes) {
      if (!text.starts_with(escape)) continue;
      plain += meaning;
      taken = escape.size();
      break;
    }
    if (taken == 0) {
      plain += text.front();
      taken = 1;
    }
    text.remove_prefix(taken);
  }
  return plain;
}

bool is_rust_hash(std::string_view component) {
  if (component.size() != 17 || component.front() != 'h') return false;
  return component.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

}  // namespace

std::string demangle(const std::string& symbol) {
  // Dynamic symbols carry their version: malloc@@GLIBC_2.2.5.
  std::string name = without_clone_suffix(symbol.substr(0, symbol.find('@', 1)));
  if (name.starts_with("_R") && name.size() <= max_mangled_bytes) {
    return demangle_rust(name.substr(0, name.find('.')), max_demangled_bytes).value_or(name);
  }
  if (!name.starts_with("_Z") || name.size() > max_mangled_bytes) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return name;
  std::string_view plain(text.get());
  const std::size_t last = plain.rfind("::");
  if (last != std::string_view::npos && is_rust_hash(plain.substr(last + 2))) {
    return unescape_rust(plain.substr(0, last));
  }
  return std::string(plain.substr(0, max_demangled_bytes));
}

}  // namespace heapwright::symbolize
