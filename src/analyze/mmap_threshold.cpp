// SPDX-License-Identifier: MIT
#include "analyze/mmap_threshold.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t header_bytes = 16;
constexpr std::uint64_t rounding_bytes = 4096;
// The C library's maximum of this threshold.
constexpr std::uint64_t most_bytes = std::uint64_t{32} << 20;
// The most by which a block's size is below the threshold that its chunk sets: the header, and rounding up to
// pages.
constexpr std::uint64_t most_slack = rounding_bytes + header_bytes;
constexpr std::size_t most_raises = 256;

}  // namespace

void MmapThreshold::add_free(std::uint64_t size, std::uint64_t excess, std::uint32_t stack,
                             std::uint64_t time_ns) {
  const auto usable = size + excess;
  const auto chunk_bytes = usable + header_bytes;
  if (!is_mapped_chunk(usable) || chunk_bytes <= threshold_ || chunk_bytes > most_bytes) {
    return;
  }
  threshold_ = chunk_bytes;
  least_size_ = chunk_bytes - most_slack;
  // The last one counts most.
  if (raises_.size() == most_raises) raises_.pop_back();
  raises_.push_back({time_ns, chunk_bytes, stack});
}

std::vector<ThresholdRaise> MmapThreshold::finish(const SiteMap& sites) const {
  auto raises = raises_;
  for (auto& raise : raises) {
    raise.site = sites.site_of(raise.site);
  }
  return raises;
}

}  // namespace heapwright::analyze
