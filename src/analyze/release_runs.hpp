// SPDX-License-Identifier: MIT
// Runs of releases: what dies together, and how long that takes in one piece. A gap ends a
// piece, and not what dies together.
//
// A run's blocks are reported by site from its `attributed_from`-th on, so that
// the short runs of a busy heap cost nothing but their length.
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

  // The lane's run goes on, past attributed_from.
  void add(std::uint32_t lane, std::uint32_t site, std::uint64_t bytes, std::uint64_t time_ns,
           std::uint32_t duration_ns);
  // It ends, when it is as long. `lives`: after the run's last release.
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
    std::size_t latest = 0;  // place of the site that came last
    std::unordered_map<std::uint32_t, std::size_t> places;
    ReleaseRun run;  // since the latest gap
    std::uint64_t last_end_ns = 0;
  };
  static constexpr std::size_t most_pairs = std::size_t{1} << 16;

  // A thread that did something else for this time between two releases.
  static constexpr std::uint64_t gap_ns = 1'000'000;

  void close(std::uint32_t lane);
  void keep(const ReleaseRun& run);

  std::vector<OpenRun> open_;  // by lane
  const std::vector<std::uint32_t>& thread_of_lane_;
  std::vector<ReleaseRun> runs_;
  std::unordered_map<std::uint64_t, EmptiedSite> emptied_;  // leader << 32 | site
};

}  // namespace heapwright::analyze
