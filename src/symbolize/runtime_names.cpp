// SPDX-License-Identifier: MIT
#include "symbolize/runtime_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

namespace heapwright::symbolize {
namespace {

SourceFrame place_of(std::string_view function, std::string_view file, std::uint32_t line) {
  SourceFrame place;
  place.function = function.empty() ? "(anonymous)" : function;
  place.file = file;
  place.line = line;
  return place;
}

// Removes ":NUMBER" from the end.
std::optional<std::uint32_t> take_last_number(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  std::uint32_t number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || stop != digits.data() + digits.size()) return std::nullopt;
  text = text.substr(0, colon);
  return number;
}

// Where the file's name begins. Both it and the function's may have spaces: "get size /srv/my app.js".
std::size_t begin_of_file(std::string_view text) {
  for (const std::string_view begin : {" /", " node:", " file:", " http"}) {
    const std::size_t found = text.find(begin);
    if (found != std::string_view::npos) return found;
  }
  return text.rfind(' ');
}

// The kind of code, a mark for the compiler that made it, the function, the file, the line, the column:
// "JS:*handle /srv/server.js:14:3". Functions without a name have none here either.
std::optional<SourceFrame> place_in_v8(std::string_view name) {
  constexpr std::array<std::string_view, 7> kinds = {
      "JS:", "LazyCompile:", "Function:", "Eval:", "Script:", "InterpretedFunction:", "Callback:"};
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](auto one) { return name.starts_with(one); });
  if (kind == kinds.end()) return std::nullopt;
  std::string_view rest = name.substr(kind->size());
  if (!rest.empty() && std::string_view("*~^+").find(rest.front()) != std::string_view::npos) {
    rest.remove_prefix(1);
  }
  const std::string_view whole = rest;
  if (!take_last_number(rest)) return place_of(whole, "", 0);
  const std::optional<std::uint32_t> line = take_last_number(rest);
  const std::size_t space = begin_of_file(rest);
  if (!line || space == std::string_view::npos) return place_of(whole, "", 0);
  return place_of(rest.substr(0, space), rest.substr(space + 1), *line);
}

// "py::handle:/srv/app.py"
std::optional<SourceFrame> place_in_python(std::string_view name) {
  constexpr std::string_view begin = "py::";
  if (!name.starts_with(begin)) return std::nullopt;
  name.remove_prefix(begin.size());
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return place_of(name, "", 0);
  return place_of(name.substr(0, colon), name.substr(colon + 1), 0);
}

// "Lcom/shop/Cart;::add", as agents for older JVMs write it.
std::optional<SourceFrame> place_in_jvm(std::string_view name) {
  const std::size_t end = name.find(";::");
  if (!name.starts_with('L') || end == std::string_view::npos) return std::nullopt;
  std::string function(name.substr(1, end - 1));
  std::replace(function.begin(), function.end(), '/', '.');
  function += '.';
  function += name.substr(end + 3);
  return place_of(function, "", 0);
}

}  // namespace

SourceFrame place_in_runtime(std::string_view name) {
  if (const auto found = place_in_v8(name)) return *found;
  if (const auto found = place_in_python(name)) return *found;
  if (const auto found = place_in_jvm(name)) return *found;
  SourceFrame place;
  place.function = name;
  return place;
}

}  // namespace heapwright::symbolize
