// SPDX-License-Identifier: MIT
#include "replay/change.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "trace/damage.hpp"

namespace heapwright::replay {
namespace {

Change change_of(std::string_view name) {
  std::string known;
  for (const auto& change : change_names) {
    if (change.name == name) return change.change;
    known += (known.empty() ? "" : ", ") + std::string(change.name);
  }
  throw trace::TraceError("no change " + std::string(name) + "; there are: " + known);
}

ChangePart part_of(std::string_view text) {
  const auto colon = text.find(':');
  ChangePart part{change_of(text.substr(0, colon)), 0};
  const auto number = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  const auto* const end = number.data() + number.size();
  const bool is_number = !number.empty() && std::from_chars(number.data(), end, part.bytes).ptr == end;
  if (part.change != Change::small_vector) {
    if (colon == std::string_view::npos) return part;
    throw trace::TraceError("small_vector alone takes a number, as small_vector:64");
  }
  if (is_number && part.bytes >= 1 && part.bytes <= largest_room) return part;
  throw trace::TraceError("small_vector takes the bytes inside the owner, 1 to " +
                          std::to_string(largest_room) + ", as small_vector:64");
}

}  // namespace

std::vector<ChangePart> parts_of(std::string_view text) {
  std::vector<ChangePart> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find('+', begin), text.size());
    parts.push_back(part_of(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  if (parts.size() > most_parts) {
    throw trace::TraceError("at most " + std::to_string(most_parts) + " changes fit into one --change");
  }
  return parts;
}

}  // namespace heapwright::replay
