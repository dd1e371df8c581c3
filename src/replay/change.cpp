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

constexpr std::string_view phase_word = "phase=";

// What is said behind the change's name, where it takes any.
struct Detail {
  std::string_view text;
  bool is_given = false;
};

// 0: it is none from 1 to `most`.
std::uint32_t number_in(std::string_view text, std::uint32_t most) {
  std::uint32_t number = 0;
  const auto* const end = text.data() + text.size();
  const bool is_number = !text.empty() && std::from_chars(text.data(), end, number).ptr == end;
  return is_number && number <= most ? number : 0;
}

std::uint32_t room_of(const Detail& detail) {
  if (const auto bytes = number_in(detail.text, largest_room)) return bytes;
  throw trace::TraceError("small_vector takes the bytes inside the owner, 1 to " +
                          std::to_string(largest_room) + ", as small_vector:64");
}

std::uint32_t wait_of(const Detail& detail) {
  if (!detail.is_given) return usual_wait_ms;
  if (const auto wait_ms = number_in(detail.text, longest_wait_ms)) return wait_ms;
  throw trace::TraceError("deferred_free takes the milliseconds that a block waits, 1 to " +
                          std::to_string(longest_wait_ms) + ", as deferred_free:100");
}

std::string phase_of(const Detail& detail) {
  if (!detail.is_given) return "";
  const bool is_phase = detail.text.size() > phase_word.size() && detail.text.starts_with(phase_word);
  if (is_phase) return std::string(detail.text.substr(phase_word.size()));
  throw trace::TraceError("arena takes the phase at whose end it is reset, as arena:phase=load");
}

void add_part(std::string_view text, ChangeRequest& request) {
  const auto colon = text.find(':');
  const bool has_detail = colon != std::string_view::npos;
  const Detail detail{has_detail ? text.substr(colon + 1) : std::string_view(), has_detail};
  ChangePart part{change_of(text.substr(0, colon)), 0};
  std::string phase;
  if (part.change == Change::small_vector) {
    part.number = room_of(detail);
  } else if (part.change == Change::deferred_free) {
    part.number = wait_of(detail);
  } else if (part.change == Change::arena) {
    phase = phase_of(detail);
  } else if (detail.is_given) {
    throw trace::TraceError(std::string(text.substr(0, colon)) + " takes nothing behind a colon");
  }
  request.parts.push_back(part);
  request.phases.push_back(phase);
}

}  // namespace

bool ChangeRequest::has_phases() const noexcept {
  return std::any_of(phases.begin(), phases.end(), [](const std::string& phase) { return !phase.empty(); });
}

bool ChangeRequest::puts_off() const noexcept {
  return std::any_of(parts.begin(), parts.end(),
                     [](const ChangePart& part) { return part.change == Change::deferred_free; });
}

ChangeRequest changes_of(std::string_view text) {
  ChangeRequest request;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find('+', begin), text.size());
    add_part(text.substr(begin, end - begin), request);
    begin = end + 1;
  }
  if (request.parts.size() > most_parts) {
    throw trace::TraceError("at most " + std::to_string(most_parts) + " changes fit into one --change");
  }
  return request;
}

}  // namespace heapwright::replay
