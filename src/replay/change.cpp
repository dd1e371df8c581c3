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

// Parameters after the change's name, if it takes any.
struct Detail {
  std::string_view text;
  bool is_given = false;
};

// 0: not a number from 1 to `most`.
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

std::uint32_t interval_of(const Detail& detail) {
  if (const auto interval_ms = number_in(detail.text, longest_interval_ms)) return interval_ms;
  throw trace::TraceError("trim takes the milliseconds between two calls of malloc_trim, 1 to " +
                          std::to_string(longest_interval_ms) + ", as trim:1000");
}

std::string phase_of(const Detail& detail) {
  if (!detail.is_given) return "";
  const bool is_phase = detail.text.size() > phase_word.size() && detail.text.starts_with(phase_word);
  if (is_phase) return std::string(detail.text.substr(phase_word.size()));
  throw trace::TraceError("arena takes the phase at whose end it is reset, as arena:phase=load");
}

// 1 or more, optionally followed by k, M or G; 0: not such a number up to `most`.
std::uint64_t bytes_in(std::string_view text, std::uint64_t most) {
  constexpr std::string_view units = "kKmMgG";
  const auto unit = text.empty() ? std::string_view::npos : units.find(text.back());
  const bool has_unit = unit != std::string_view::npos;
  const auto shift = has_unit ? 10 * (unit / 2 + 1) : 0;
  const auto number = number_in(text.substr(0, text.size() - (has_unit ? 1 : 0)), UINT32_MAX);
  const auto bytes = std::uint64_t{number} << shift;
  return bytes <= most ? bytes : 0;
}

// Whether it is a setting of a buffer_cache with a valid value.
bool set_in(std::string_view name, std::string_view value, cached_buffers::Settings& settings) {
  if (name == "total_bytes") {
    settings.total_bytes = bytes_in(value, most_cached_bytes);
    return settings.total_bytes != 0;
  }
  if (name == "buffers") {
    settings.buffers = number_in(value, most_cached_buffers);
    return settings.buffers != 0;
  }
  const auto& names = cached_buffers::policy_names;
  const auto* const found = std::find(names.begin(), names.end(), value);
  if (name != "policy" || found == names.end()) return false;
  settings.policy = static_cast<cached_buffers::Policy>(found - names.begin());
  return true;
}

cached_buffers::Settings cache_of(const Detail& detail) {
  cached_buffers::Settings settings;
  if (!detail.is_given) return settings;
  for (std::size_t begin = 0; begin <= detail.text.size();) {
    const auto end = std::min(detail.text.find(',', begin), detail.text.size());
    const auto words = detail.text.substr(begin, end - begin);
    const auto equals = std::min(words.find('='), words.size());
    const auto value = words.substr(std::min(equals + 1, words.size()));
    if (!set_in(words.substr(0, equals), value, settings)) {
      std::string policies;
      for (const auto name : cached_buffers::policy_names) policies += " " + std::string(name);
      throw trace::TraceError("buffer_cache takes total_bytes=1M, buffers=256 (up to " +
                              std::to_string(most_cached_buffers) + "), policy=NAME of" + policies +
                              ", separated by commas; not '" + std::string(words) + "'");
    }
    begin = end + 1;
  }
  return settings;
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
  } else if (part.change == Change::trim) {
    part.number = interval_of(detail);
  } else if (part.change == Change::arena) {
    phase = phase_of(detail);
  } else if (part.change == Change::buffer_cache) {
    part.cache = cache_of(detail);
  } else if (detail.is_given) {
    throw trace::TraceError(std::string(text.substr(0, colon)) + " takes nothing after a colon");
  }
  request.parts.push_back(part);
  request.phases.push_back(phase);
}

}  // namespace

bool ChangeRequest::has_phases() const noexcept {
  return std::any_of(phases.begin(), phases.end(), [](const std::string& phase) { return !phase.empty(); });
}

bool ChangeRequest::defers_frees() const noexcept {
  return std::any_of(parts.begin(), parts.end(),
                     [](const ChangePart& part) { return part.change == Change::deferred_free; });
}

std::size_t ChangeRequest::trim() const noexcept {
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [](const ChangePart& part) { return part.change == Change::trim; });
  return static_cast<std::size_t>(found - parts.begin());
}

ChangeRequest changes_of(std::string_view text) {
  ChangeRequest request;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find('+', begin), text.size());
    add_part(text.substr(begin, end - begin), request);
    begin = end + 1;
  }
  const auto trims = std::count_if(request.parts.begin(), request.parts.end(),
                                   [](const ChangePart& part) { return part.change == Change::trim; });
  if (trims > 1) throw trace::TraceError("one trim fits into one --change");
  if (request.parts.size() > most_parts) {
    throw trace::TraceError("at most " + std::to_string(most_parts) + " changes fit into one --change");
  }
  return request;
}

}  // namespace heapwright::replay
