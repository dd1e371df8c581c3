// SPDX-License-Identifier: MIT
#include "collect/perf_map.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace heapwright::collect {
namespace {

// The number at the start of `text`, and the space after it, which are removed. False: there are none.
bool take_number(std::string_view& text, std::uint64_t& value) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const auto digits = static_cast<std::size_t>(stop - text.data());
  if (error != std::errc{} || digits == text.size() || *stop != ' ') return false;
  text.remove_prefix(digits + 1);
  return true;
}

}  // namespace

PerfMap::PerfMap(std::vector<std::uint64_t> addresses) : addresses_(std::move(addresses)) {
  std::sort(addresses_.begin(), addresses_.end());
  addresses_.erase(std::unique(addresses_.begin(), addresses_.end()), addresses_.end());
  name_of_.assign(addresses_.size(), unnamed);
}

void PerfMap::add(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    // One byte too long is kept, which tells that the line is.
    const std::size_t room = most_line_bytes + 1 - line_.size();
    line_.append(text.substr(0, std::min(end, room)));
    if (end == std::string_view::npos) return;
    add_line(line_);
    line_.clear();
    text.remove_prefix(end + 1);
  }
}

void PerfMap::add_line(std::string_view line) {
  const bool is_too_long = line.size() > most_line_bytes;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  if (!take_number(line, begin) || !take_number(line, bytes)) return;
  add_code(begin, bytes, is_too_long ? std::string_view() : line);
}

void PerfMap::add_code(std::uint64_t begin, std::uint64_t bytes, std::string_view name) {
  const auto first = std::lower_bound(addresses_.begin(), addresses_.end(), begin);
  const auto begin_index = static_cast<std::size_t>(first - addresses_.begin());
  std::uint32_t number = unnamed;
  for (std::size_t i = begin_index; i < addresses_.size() && addresses_[i] - begin < bytes; ++i) {
    if (++hits_ > most_hits) return;
    std::uint32_t& known = name_of_[i];
    if (known == unnamed && !name.empty()) {
      if (number == unnamed) {
        number = static_cast<std::uint32_t>(names_.size());
        names_.emplace_back(name);
      }
      known = number;
    } else if (known == unnamed || known == ambiguous || names_[known] != name) {
      known = ambiguous;
    }
  }
}

std::string_view PerfMap::name_at(std::uint64_t address) const {
  const auto found = std::lower_bound(addresses_.begin(), addresses_.end(), address);
  if (hits_ > most_hits || found == addresses_.end() || *found != address) return {};
  const std::uint32_t name = name_of_[static_cast<std::size_t>(found - addresses_.begin())];
  return name == unnamed || name == ambiguous ? std::string_view() : names_[name];
}

}  // namespace heapwright::collect
