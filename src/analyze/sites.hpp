// SPDX-License-Identifier: MIT
// Who allocates: sums per call stack, merged into sites at the end of the trace. Facts of single calls
// (StackCalls) are separate from those that need pairing (StackLives), because different threads count them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyze/facts/series.hpp"
#include "analyze/histogram.hpp"
#include "analyze/site_histograms.hpp"
#include "analyze/zeroed_array.hpp"

namespace heapwright::analyze {

struct Facts;
struct Options;

// The site of a stack: the stack itself if no grouping was given.
class SiteMap {
 public:
  // Throws std::invalid_argument if the options do not fit the trace.
  SiteMap(const Options& options, std::size_t stack_count);

  std::uint32_t site_of(std::uint32_t stack) const noexcept { return is_identity_ ? stack : sites_[stack]; }
  bool is_identity() const noexcept { return is_identity_; }
  bool is_chosen(std::uint32_t stack) const noexcept {
    return chosen_.empty() || (stack < chosen_.size() && chosen_[stack] != 0);
  }
  std::size_t stack_count() const noexcept { return stack_count_; }
  std::size_t site_count() const noexcept { return site_count_; }

 private:
  const std::vector<std::uint32_t>& sites_;
  const std::vector<std::uint8_t>& chosen_;
  bool is_identity_;
  std::size_t stack_count_;
  std::size_t site_count_;
};

struct alignas(64) StackCalls {
  std::uint64_t allocations;
  std::uint64_t bytes;
  std::uint64_t overhead_bytes;
  std::uint64_t reallocs;
  std::uint64_t allocator_ns;
  std::uint64_t max_ns;
  std::uint64_t max_bytes;
  std::uint64_t min_bytes_inverted;  // inverted, so that 0 means none

  void add(const StackCalls& other) noexcept;
};

// Calls of one stack with equal requests.
struct SiteCalls {
  std::uint64_t calls;
  std::uint64_t size_bytes;  // of each
  std::uint64_t excess_bytes;
  std::uint64_t allocator_ns;  // of all
  std::uint64_t max_ns;
  bool is_realloc;
  bool is_by_new;
};

// Order-free part: successful allocations by stack.
class SiteCallSums {
 public:
  SiteCallSums(const SiteMap& map, std::size_t histogram_counts);

  // Adds everything but the latency buckets.
  void add(std::uint32_t stack, const SiteCalls& calls) {
    auto& sums = stacks_[stack];
    sums.allocations += calls.calls;
    sums.bytes += calls.size_bytes * calls.calls;
    sums.overhead_bytes += calls.excess_bytes * calls.calls;
    sums.reallocs += calls.is_realloc ? calls.calls : 0;
    sums.allocator_ns += calls.allocator_ns;
    sums.max_ns = std::max(sums.max_ns, calls.max_ns);
    sums.max_bytes = std::max(sums.max_bytes, calls.size_bytes);
    sums.min_bytes_inverted = std::max(sums.min_bytes_inverted, ~calls.size_bytes);
    sizes_.add(map_.site_of(stack), bucket_of(calls.size_bytes), calls.calls);
    is_by_new_[stack] = calls.is_by_new ? 1 : 0;
  }
  [[gnu::always_inline]] void add_latency(std::uint32_t site, std::uint32_t duration_bucket,
                                          std::uint64_t calls) {
    latencies_.add(site, duration_bucket, calls);
  }
  void add(const SiteCallSums& other);
  // Adds the number of requests in each bucket of sizes.
  void add_sizes_to(std::uint32_t site, std::vector<std::uint64_t>& counts) const;
  std::uint64_t sizes_left_out() const noexcept;
  // Fills the calls' columns of stacks, site_latency, site_sizes, and what these left out.
  void finish(Facts& facts) const;

 private:
  const SiteMap& map_;
  ZeroedArray<StackCalls> stacks_;
  SiteHistograms sizes_;
  SiteHistograms latencies_;
  ZeroedArray<std::uint8_t> is_by_new_;  // by stack: a call site has one entry point
  std::vector<const SiteCallSums*> others_;
};

// Live bytes and blocks of one group, with their values at the peak: copied when the group first changes
// after the peak.
struct LiveShare {
  std::uint64_t bytes;
  std::uint64_t blocks;
  std::uint64_t at_peak_bytes;
  std::uint64_t at_peak_blocks;
  std::uint64_t peak_version;

  void keep_peak(std::uint64_t version) noexcept {
    if (peak_version != version) {
      at_peak_bytes = bytes;
      at_peak_blocks = blocks;
      peak_version = version;
    }
  }
  void add(std::uint64_t more_bytes, std::uint64_t more_blocks, std::uint64_t version) noexcept {
    keep_peak(version);
    bytes += more_bytes;
    blocks += more_blocks;
  }
  void remove(std::uint64_t fewer_bytes, std::uint64_t fewer_blocks, std::uint64_t version) noexcept {
    keep_peak(version);
    bytes -= fewer_bytes;
    blocks -= fewer_blocks;
  }
};

struct alignas(64) StackLife {
  LiveShare live;
  std::uint64_t own_peak_bytes;
  std::uint64_t own_peak_blocks;
  std::uint64_t temporaries;

  void raise(std::uint64_t bytes, std::uint64_t blocks) noexcept {
    own_peak_blocks = bytes > own_peak_bytes ? blocks : own_peak_blocks;
    own_peak_bytes = bytes > own_peak_bytes ? bytes : own_peak_bytes;
  }
};

// Ordered part: the fate of each stack's blocks.
class SiteLives {
 public:
  explicit SiteLives(const SiteMap& map);

  [[gnu::always_inline]] void add_block(std::uint32_t stack, std::uint64_t bytes, std::uint64_t weight,
                                        std::uint64_t excess_bytes, std::uint64_t version) noexcept {
    auto& life = stacks_[stack];
    life.live.add(bytes, weight, version);
    life.raise(life.live.bytes, life.live.blocks);
    auto& site = sites_[map_.site_of(stack)];
    site.bytes += bytes;
    site.excess_bytes += excess_bytes;
    site.blocks += weight;
    site.peak_bytes = site.bytes > site.peak_bytes ? site.bytes : site.peak_bytes;
  }
  // The group's own peak, including a block that is already freed.
  [[gnu::always_inline]] void raise(std::uint32_t stack, std::uint64_t bytes) noexcept {
    auto& life = stacks_[stack];
    life.raise(life.live.bytes + bytes, life.live.blocks + 1);
    auto& site = sites_[map_.site_of(stack)];
    site.peak_bytes = std::max(site.peak_bytes, site.bytes + bytes);
  }
  [[gnu::always_inline]] void remove_block(std::uint32_t stack, std::uint64_t bytes, std::uint64_t weight,
                                           std::uint64_t excess_bytes, std::uint64_t version) noexcept {
    stacks_[stack].live.remove(bytes, weight, version);
    auto& site = sites_[map_.site_of(stack)];
    site.bytes -= bytes;
    site.excess_bytes -= excess_bytes;
    site.blocks -= weight;
  }
  // What the site holds now.
  SiteMoment moment_of(std::uint32_t site) const noexcept {
    const auto& live = sites_[site];
    return {live.bytes, live.bytes + live.excess_bytes, live.blocks};
  }
  std::uint64_t live_bytes_of(std::uint32_t stack) const noexcept { return stacks_[stack].live.bytes; }
  std::uint64_t live_blocks_of(std::uint32_t stack) const noexcept { return stacks_[stack].live.blocks; }
  void add_temporary(std::uint32_t stack, std::uint64_t weight) noexcept {
    stacks_[stack].temporaries += weight;
  }
  // Resets the counts; live blocks stay.
  void begin_window(std::uint64_t version);
  void finish(std::uint64_t version, Facts& facts);

 private:
  struct alignas(32) SiteLive {
    std::uint64_t bytes;
    std::uint64_t excess_bytes;  // usable beyond the requested ones
    std::uint64_t blocks;
    std::uint64_t peak_bytes;
  };
  const SiteMap& map_;
  ZeroedArray<StackLife> stacks_;
  ZeroedArray<SiteLive> sites_;
};

// Sums facts.stacks into facts.sites; the own peaks of sites are kept.
void fold_stacks_into_sites(const SiteMap& map, Facts& facts);

}  // namespace heapwright::analyze
