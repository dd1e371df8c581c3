// SPDX-License-Identifier: MIT
#include "analyze/held_pages.hpp"

#include <algorithm>

namespace heapwright::analyze {

// nullptr: the limit is reached.
HeldPages::Segment* HeldPages::segment_of(std::uint64_t page) {
  const auto number = page / pages_per_segment;
  const auto found = segments_.find(number);
  if (found != segments_.end()) {
    return found->second.get();
  }
  if (segments_.size() >= most_segments) {
    return nullptr;
  }
  return segments_.emplace(number, std::make_unique<Segment>()).first->second.get();
}

void HeldPages::mark_pages(std::uint64_t address, std::uint64_t bytes) {
  if (address >= end_address || bytes > end_address - address) {
    return;
  }
  const auto last = (address + (bytes != 0 ? bytes - 1 : 0)) / page_bytes;
  for (auto page = address / page_bytes; page <= last;) {
    auto* const segment = segment_of(page);
    if (segment == nullptr) {
      return;
    }
    const auto end = std::min(last, page | (pages_per_segment - 1));
    for (; page <= end; ++page) {
      (*segment)[page % pages_per_segment / 64] |= std::uint64_t{1} << (page % 64);
    }
  }
  last_page_ = last;
}

void HeldPages::clear(std::uint64_t begin, std::uint64_t end) {
  last_page_ = UINT64_MAX;
  const auto clear_in = [&](std::uint64_t number, Segment& segment) {
    const auto first = number * pages_per_segment;
    const auto from = std::max(first, begin / page_bytes);
    const auto to = std::min(first + pages_per_segment, end / page_bytes);
    for (auto page = from; page < to; ++page) {
      segment[page % pages_per_segment / 64] &= ~(std::uint64_t{1} << (page % 64));
    }
  };
  // A range may be all of the address space.
  const auto first = begin / page_bytes / pages_per_segment;
  const auto last = end / page_bytes / pages_per_segment;
  if (last - first >= segments_.size()) {
    for (auto& [number, segment] : segments_) {
      clear_in(number, *segment);
    }
    return;
  }
  for (auto number = first; number <= last; ++number) {
    const auto found = segments_.find(number);
    if (found != segments_.end()) clear_in(number, *found->second);
  }
}

bool HeldPages::has(std::uint64_t address) const noexcept {
  const auto page = address / page_bytes;
  const auto found = segments_.find(page / pages_per_segment);
  return found != segments_.end() &&
         ((*found->second)[page % pages_per_segment / 64] >> (page % 64) & 1) != 0;
}

bool HeldPages::has_any(std::uint64_t begin, std::uint64_t end) const noexcept {
  const auto has_page = [&](const auto& entry) {
    const auto first = entry.first * pages_per_segment;
    const auto from = std::max(first, begin / page_bytes);
    const auto to = std::min(first + pages_per_segment, end / page_bytes);
    for (auto page = from; page < to; ++page) {
      if (((*entry.second)[page % pages_per_segment / 64] >> (page % 64) & 1) != 0) {
        return true;
      }
    }
    return false;
  };
  // A range may be all of the address space.
  if ((end - begin) / page_bytes / pages_per_segment >= segments_.size()) {
    return std::any_of(segments_.begin(), segments_.end(), has_page);
  }
  const auto last = (end - 1) / page_bytes / pages_per_segment;
  for (auto number = begin / page_bytes / pages_per_segment; begin < end && number <= last; ++number) {
    const auto found = segments_.find(number);
    if (found != segments_.end() && has_page(*found)) {
      return true;
    }
  }
  return false;
}

void HeldPages::add(const HeldPages& other) {
  for (const auto& [number, segment] : other.segments_) {
    auto* const own = segment_of(number * pages_per_segment);
    for (std::size_t word = 0; own != nullptr && word < segment->size(); ++word) {
      (*own)[word] |= (*segment)[word];
    }
  }
}

}  // namespace heapwright::analyze
