// SPDX-License-Identifier: MIT
// Runs of releases: blocks that are freed together, and how long one uninterrupted piece takes. A gap ends a
// piece but not the run.
//
// A run's blocks are reported by site starting with its `attributed_from`-th, so that the short runs of a
// busy heap cost no more than counting their length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyze/facts/patterns.hpp"
#include "analyze/sites.hpp"

namespace heapwright::analyze {

struct Facts;

// Not thread-safe. Memory: lanes x sites of one run, at most most_pairs pairs and most_runs runs.
class ReleaseRuns {
 public:
  static constexpr std::uint32_t attributed_from = 32;
  static constexpr std::size_t most_runs = 64;  // the longest ones are kept

  ReleaseRuns(std::size_t lanes, const std::vector<std::uint32_t>& thread_of_lane)
      : open_(lanes), thread_of_lane_(thread_of_lane) {}

  // Another release in the lane's run, after attributed_from.
  void add(std::uint32_t lane, std::uint32_t site, std::uint64_t bytes, std::uint64_t time_ns,
           std::uint32_t duration_ns);
  // Ends the lane's run if it is that long. `lives`: state after the run's last release.
  void end(std::uint32_t lane, const SiteLives& lives);
  void begin_window();
  // Ends all runs and fills release_runs and emptied_sites.
  void finish(const SiteLives& lives, Facts& facts);

 private:
  struct OfSite {
    std::uint32_t site;
    std::uint64_t blocks;
    std::uint64_t bytes;
  };
  struct OpenRun {
    std::vector<OfSite> sites;
    std::size_t latest = 0;  // index of the most recent site
    std::unordered_map<std::uint32_t, std::size_t> places;
    ReleaseRun run;             // since the latest gap
    std::uint64_t last_ns = 0;  // begin of the latest release
    std::uint64_t last_end_ns = 0;
  };
  static constexpr std::size_t most_pairs = std::size_t{1} << 16;

  // A thread that did something else for this long between two releases.
  static constexpr std::uint64_t gap_ns = 1'000'000;
  // A destructor's work; above it, the thread waited for a processor.
  static constexpr std::uint64_t most_between_ns = 20'000;

  void close(std::uint32_t lane);
  void keep(const ReleaseRun& run);

  std::vector<OpenRun> open_;  // by lane
  const std::vector<std::uint32_t>& thread_of_lane_;
  std::vector<ReleaseRun> runs_;
  std::unordered_map<std::uint64_t, EmptiedSite> emptied_;  // leader << 32 | site
};

}  // namespace heapwright::analyze
