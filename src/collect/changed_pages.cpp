// SPDX-License-Identifier: MIT
#include "collect/changed_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace heapwright::collect {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t is_changed = std::uint64_t{1} << 55U;  // of an entry of the pagemap
constexpr std::size_t entries_at_once = std::size_t{1} << 16U;

bool try_with_own_memory() {
  void* const made =
      mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (made == MAP_FAILED) return false;
  const auto begin = reinterpret_cast<std::uint64_t>(made);
  const PageRanges memory{{begin, begin + page_bytes}};
  const std::string folder = "/proc/self";
  auto* const byte = static_cast<volatile char*>(made);
  *byte = 1;
  const bool was_changed = unchanged_pages(folder, memory).empty();
  const bool is_forgotten = note_changed_pages(folder) && !unchanged_pages(folder, memory).empty();
  *byte = 2;
  const bool is_seen = unchanged_pages(folder, memory).empty();
  munmap(made, page_bytes);
  return was_changed && is_forgotten && is_seen;
}

void append(PageRanges& ranges, std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  if (!ranges.empty() && ranges.back().end == begin) {
    ranges.back().end = end;
  } else {
    ranges.push_back({begin, end});
  }
}

}  // namespace

PageRanges common(const PageRanges& a, const PageRanges& b) {
  PageRanges found;
  auto other = b.begin();
  for (const auto& range : a) {
    while (other != b.end() && other->end <= range.begin) ++other;
    for (auto at = other; at != b.end() && at->begin < range.end; ++at) {
      append(found, std::max(range.begin, at->begin), std::min(range.end, at->end));
    }
  }
  return found;
}

PageRanges without(const PageRanges& a, const PageRanges& b) {
  PageRanges found;
  auto other = b.begin();
  for (const auto& range : a) {
    while (other != b.end() && other->end <= range.begin) ++other;
    std::uint64_t from = range.begin;
    for (auto at = other; at != b.end() && at->begin < range.end; ++at) {
      append(found, from, at->begin);
      from = at->end;
    }
    append(found, from, range.end);
  }
  return found;
}

bool can_tell_changed_pages() {
  static const bool can = try_with_own_memory();
  return can;
}

bool note_changed_pages(const std::string& folder) {
  const int file = open((folder + "/clear_refs").c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_noted = write(file, "4", 1) == 1;
  close(file);
  return is_noted;
}

PageRanges unchanged_pages(const std::string& folder, const PageRanges& memory) {
  PageRanges found;
  const int file = open((folder + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return found;
  std::vector<std::uint64_t> entries(entries_at_once);
  for (const auto& range : memory) {
    for (std::uint64_t at = range.begin; at < range.end;) {
      const std::size_t wanted = std::min<std::uint64_t>(entries_at_once, (range.end - at) / page_bytes);
      const ssize_t bytes = pread(file, entries.data(), wanted * sizeof entries[0],
                                  static_cast<off_t>(at / page_bytes * sizeof entries[0]));
      const std::size_t count = bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof entries[0] : 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t page = at + i * page_bytes;
        if ((entries[i] & is_changed) == 0) append(found, page, page + page_bytes);
      }
      at += std::max<std::size_t>(count, 1) * page_bytes;  // one that cannot be read counts as changed
    }
  }
  close(file);
  return found;
}

}  // namespace heapwright::collect
