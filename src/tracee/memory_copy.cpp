// SPDX-License-Identifier: MIT
#include "tracee/memory_copy.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace heapwright::tracee {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t least_area_bytes = std::uint64_t{4} << 20U;
constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t most_at_once_bytes = std::uint64_t{1} << 30U;
// Huge pages are touched, and copied to, several times faster.
constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20U;

}  // namespace

MemoryCopy::MemoryCopy(std::uint64_t expected_bytes) {
  if (expected_bytes == 0 || reserve(expected_bytes) == nullptr) return;
  Area& area = areas_.back();
  for (std::uint64_t at = 0; at < expected_bytes; at += page_bytes) area.begin[at] = std::byte{0};
  area.used = 0;
}

MemoryCopy::~MemoryCopy() {
  for (const Area& area : areas_) munmap(area.begin, area.bytes);
}

std::byte* MemoryCopy::reserve(std::uint64_t bytes) {
  if (areas_.empty() || areas_.back().bytes - areas_.back().used < bytes) {
    const std::uint64_t wanted = std::max(bytes, least_area_bytes);
    const std::uint64_t rounded = (wanted + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
    void* const made = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return nullptr;
    madvise(made, rounded, MADV_HUGEPAGE);
    areas_.push_back({static_cast<std::byte*>(made), rounded, 0});
  }
  Area& area = areas_.back();
  std::byte* const found = area.begin + area.used;
  area.used += bytes;
  return found;
}

void MemoryCopy::note(Run run, const std::byte* at) {
  const bool continues = !copied_.empty() && copied_.back().end == run.begin &&
                         copied_.back().at + (run.begin - copied_.back().begin) == at;
  if (continues) {
    copied_.back().end = run.end;
  } else if (run.begin < run.end) {
    copied_.push_back({run.begin, run.end, at});
  }
}

bool MemoryCopy::add(const StoppedProcess& process, std::span<const Run> runs) {
  for (const Run& run : runs) {
    std::byte* const to = reserve(run.end - run.begin);
    if (to == nullptr) return false;
    for (std::uint64_t at = run.begin; at < run.end;) {
      std::byte* const here = to + (at - run.begin);
      const std::uint64_t wanted = std::min(run.end - at, most_at_once_bytes);
      const std::uint64_t done = process.read(at, here, wanted) / word_bytes * word_bytes;
      note({at, at + done}, here);
      at += done;
      if (done < wanted) at = (at / page_bytes + 1) * page_bytes;  // this page went away
    }
  }
  return true;
}

std::span<const std::uint64_t> MemoryCopy::from(std::uint64_t begin, std::uint64_t end) const noexcept {
  const auto after = std::upper_bound(copied_.begin(), copied_.end(), begin,
                                      [](std::uint64_t at, const Copied& run) { return at < run.begin; });
  if (after == copied_.begin() || begin >= std::prev(after)->end) return {};
  const Copied& run = *std::prev(after);
  const auto* const words = reinterpret_cast<const std::uint64_t*>(run.at + (begin - run.begin));
  return {words, (std::min(end, run.end) - begin) / word_bytes};
}

}  // namespace heapwright::tracee
