// SPDX-License-Identifier: MIT
// length: one comparison for each part of the facts
// The fast analysis against the slow model, over many random traces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analyze/histogram.hpp"
#include "random_trace.hpp"
#include "slow_model.hpp"

namespace heapwright::analyze {
namespace {

struct Shape {
  std::uint64_t first_seed;
  std::uint32_t threads;
  std::size_t steps;
  PipelineLimits limits;
};

class Differential : public testing::TestWithParam<Shape> {};

// What the calls alone say, without pairing.
struct Sums {
  std::map<std::uint64_t, std::uint64_t> sizes;
  std::map<std::uint32_t, SiteFacts> stacks;
  std::map<std::uint32_t, std::vector<std::uint64_t>> sizes_of_stack;
  std::map<trace::EventKind, std::pair<std::uint64_t, std::uint64_t>> kinds;  // calls, ns
  std::uint64_t allocations = 0, releases = 0, requested = 0, excess = 0, null_frees = 0, failed = 0, ns = 0;
};

template <typename Call>
void add_call(const Call& call, Sums& sums) {
  sums.kinds[call.kind].first++;
  sums.kinds[call.kind].second += call.duration_ns;
  sums.ns += call.duration_ns;
  const bool gives_back =
      trace::is_realloc(call.kind) && call.old_address != 0 && (call.address != 0 || call.size == 0);
  sums.releases += gives_back || (trace::is_release(call.kind) && call.address != 0) ? 1 : 0;
  sums.null_frees += trace::is_release(call.kind) && call.address == 0 ? 1 : 0;
  if (!trace::is_allocation(call.kind)) return;
  if (call.address == 0) {
    sums.failed += gives_back ? 0 : 1;
    return;
  }
  ++sums.allocations;
  sums.requested += call.size;
  sums.excess += call.usable - call.size;
  ++sums.sizes[call.size];
  sums.sizes_of_stack[call.stack].push_back(call.size);
  auto& site = sums.stacks[call.stack];
  ++site.allocations;
  site.bytes += call.size;
  site.overhead_bytes += call.usable - call.size;
  site.allocator_ns += call.duration_ns;
  site.reallocs += trace::is_realloc(call.kind) ? 1 : 0;
}

void expect_same_sizes(Sums& sums, const Facts& facts) {
  for (const auto& [size, count] : facts.common_sizes) {
    EXPECT_EQ(count, sums.sizes[size]) << size;
  }
  for (auto& [stack, sizes] : sums.sizes_of_stack) {
    std::sort(sizes.begin(), sizes.end());
    const auto& found = facts.site_sizes[stack];
    EXPECT_EQ(found.min_bytes, sizes.front());
    EXPECT_EQ(found.max_bytes, sizes.back());
    const auto expect_near = [&sizes = sizes](std::uint64_t bytes, double share) {
      const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sizes.size()))) - 1;
      const auto exact = static_cast<double>(sizes[rank]);
      EXPECT_NEAR(static_cast<double>(bytes), exact, std::max(1.0, exact * 0.125)) << share;
    };
    expect_near(found.p50_bytes, 0.5);
    expect_near(found.p90_bytes, 0.9);
    EXPECT_EQ(facts.site_latency[stack].calls, sizes.size());
  }
}

void expect_same_stacks(Sums& sums, const Facts& facts) {
  for (std::uint32_t stack = 0; stack < facts.stacks.size(); ++stack) {
    EXPECT_EQ(facts.stacks[stack].allocations, sums.stacks[stack].allocations);
    EXPECT_EQ(facts.stacks[stack].bytes, sums.stacks[stack].bytes);
    EXPECT_EQ(facts.stacks[stack].overhead_bytes, sums.stacks[stack].overhead_bytes);
    EXPECT_EQ(facts.stacks[stack].allocator_ns, sums.stacks[stack].allocator_ns);
    EXPECT_EQ(facts.stacks[stack].reallocs, sums.stacks[stack].reallocs);
  }
}

void expect_same_calls(const MemoryTrace& trace, const Facts& facts) {
  Sums sums;
  for (const auto& [thread, calls] : trace.calls()) {
    const Sums before = sums;
    for (const auto& call : calls) {
      add_call(call, sums);
    }
    EXPECT_EQ(facts.threads.at(thread).allocations, sums.allocations - before.allocations);
    EXPECT_EQ(facts.threads.at(thread).releases, sums.releases - before.releases);
    EXPECT_EQ(facts.threads.at(thread).allocator_ns, sums.ns - before.ns);
  }
  EXPECT_EQ(facts.totals.allocations, sums.allocations);
  EXPECT_EQ(facts.totals.releases, sums.releases);
  EXPECT_EQ(facts.totals.requested_bytes, sums.requested);
  EXPECT_EQ(facts.totals.usable_bytes, sums.requested + sums.excess);
  EXPECT_EQ(facts.totals.null_frees, sums.null_frees);
  EXPECT_EQ(facts.totals.failed, sums.failed);
  EXPECT_EQ(facts.totals.allocator_ns, sums.ns);
  EXPECT_EQ(facts.totals.zero_size, sums.sizes.contains(0) ? sums.sizes[0] : 0);
  for (const auto& row : facts.by_kind) {
    EXPECT_EQ(row.calls, sums.kinds[row.kind].first);
    EXPECT_EQ(row.latency.sum_ns, sums.kinds[row.kind].second);
  }
  EXPECT_EQ(facts.by_kind.size(), sums.kinds.size());
  expect_same_sizes(sums, facts);
  expect_same_stacks(sums, facts);
}

void expect_same_peak(const SlowModel& model, const Facts& facts) {
  EXPECT_EQ(facts.peak.live_bytes, model.peak_bytes);
  EXPECT_EQ(facts.peak.time_ns, model.peak_time_ns);
  EXPECT_EQ(facts.peak.live_blocks, model.live_at_peak.size());
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> at_peak, at_end;
  std::map<std::uint64_t, std::uint64_t> class_at_peak;
  std::uint64_t usable = 0;
  for (const auto& [address, block] : model.live_at_peak) {
    at_peak[block.stack].first++;
    at_peak[block.stack].second += block.size;
    class_at_peak[size_class_from(size_class_of(block.size))] += block.size;
    usable += block.usable;
  }
  EXPECT_EQ(facts.peak.live_usable_bytes, usable);
  for (const auto& [address, block] : model.live) {
    at_end[block.stack].first++;
    at_end[block.stack].second += block.size;
  }
  for (std::uint32_t stack = 0; stack < facts.stacks.size(); ++stack) {
    EXPECT_EQ(facts.stacks[stack].live_at_peak_blocks, at_peak[stack].first);
    EXPECT_EQ(facts.stacks[stack].live_at_peak_bytes, at_peak[stack].second);
    EXPECT_EQ(facts.stacks[stack].live_at_end_blocks, at_end[stack].first);
    EXPECT_EQ(facts.stacks[stack].live_at_end_bytes, at_end[stack].second);
    const auto own = model.own_peak_of_stack.find(stack);
    EXPECT_EQ(facts.stacks[stack].own_peak_bytes, own == model.own_peak_of_stack.end() ? 0 : own->second);
  }
  for (const auto& row : facts.by_size) {
    EXPECT_EQ(row.live_at_peak_bytes, class_at_peak[row.from_bytes]) << row.from_bytes;
  }
}

void expect_same_fates(const SlowModel& model, const Facts& facts) {
  EXPECT_EQ(facts.totals.unknown_releases, model.unknown);
  EXPECT_EQ(facts.totals.reused_live_addresses, model.reused);
  EXPECT_EQ(facts.totals.size_mismatches, model.mismatches);
  std::uint64_t temporaries = 0;
  for (const auto& [stack, count] : model.temporaries_of_stack) {
    EXPECT_EQ(facts.stacks[stack].temporaries, count);
    temporaries += count;
  }
  EXPECT_EQ(facts.temporaries, temporaries);
  for (const auto& [thread, count] : model.temporaries_of_thread) {
    EXPECT_EQ(facts.threads[thread].temporaries, count);
  }
  for (const auto& [thread, bytes] : model.own_peak_of_thread) {
    EXPECT_EQ(facts.threads[thread].peak_live_bytes, bytes);
  }
  for (const auto& [stack, lifetimes] : model.lifetimes_of_stack) {
    EXPECT_EQ(facts.stacks[stack].freed, lifetimes.size());
    EXPECT_EQ(facts.stacks[stack].lifetime_sum_ns,
              std::accumulate(lifetimes.begin(), lifetimes.end(), std::uint64_t{0}));
  }
  ASSERT_EQ(facts.cross_thread.size(), model.freed_by.size());
  for (const auto& cell : facts.cross_thread) {
    const auto expected = model.freed_by.at({cell.allocating_thread, cell.freeing_thread});
    EXPECT_EQ(cell.blocks, expected.first);
    EXPECT_EQ(cell.bytes, expected.second);
  }
  ASSERT_EQ(facts.realloc_chains.size(), model.chains.size());
  for (const auto& row : facts.realloc_chains) {
    const SlowChain chain{row.chains,       row.steps,         row.moved,
                          row.copied_bytes, row.longest_steps, row.final_bytes};
    EXPECT_EQ(chain, model.chains.at(row.site)) << row.site;
  }
}

void expect_same_map(const SlowModel& model, const Facts& facts) {
  const auto& map = facts.lifetimes;
  const auto columns = map.lifetime_from_ns.size() + 1;
  std::vector<std::uint64_t> blocks(map.blocks.size());
  const auto row_of = [&](std::uint64_t size) {
    std::size_t row = 0;
    while (row + 1 < map.size_from_bytes.size() && size >= map.size_from_bytes[row + 1]) {
      ++row;
    }
    return row;
  };
  for (const auto& [size, lifetime] : model.size_and_lifetime) {
    std::size_t column = 0;
    while (column + 1 < map.lifetime_from_ns.size() && lifetime >= map.lifetime_from_ns[column + 1]) {
      ++column;
    }
    ++blocks[row_of(size) * columns + column];
  }
  for (const auto& [address, block] : model.live) {
    ++blocks[row_of(block.size) * columns + columns - 1];
  }
  EXPECT_EQ(map.blocks, blocks);
}

void expect_same_course(const SlowModel& model, const Facts& facts) {
  std::size_t index = 0;
  auto state = model.before_course;
  for (const auto& point : facts.timeline) {
    auto highest = state;
    while (index < model.live_course.size() && model.live_course[index].time_ns < point.time_ns) {
      state = model.live_course[index++];
      highest = state.bytes > highest.bytes ? state : highest;
    }
    ASSERT_LE(point.highest_live_bytes, point.usable_at_highest_bytes);
    if (&point != &facts.timeline.back()) {
      ASSERT_EQ(point.live_bytes, state.bytes) << point.time_ns;
      ASSERT_EQ(point.live_usable_bytes, state.usable) << point.time_ns;
      ASSERT_EQ(point.highest_live_bytes, highest.bytes) << point.time_ns;
      ASSERT_EQ(point.usable_at_highest_bytes, highest.usable) << point.time_ns;
    }
  }
  EXPECT_EQ(facts.timeline.back().live_bytes, model.live_bytes);
}

void expect_same_mappings(const SlowModel& model, const Facts& facts) {
  std::map<std::uint32_t, SlowMapping> found;
  for (const auto& row : facts.mappings) {
    found[row.site] = {row.calls, row.bytes, row.unmapped_bytes, row.at_end_bytes};
  }
  EXPECT_EQ(found, model.mappings);
}

// What each call adds to the totals when a range or threads are asked for.
void expect_same_totals(const MemoryTrace& trace, const Asked& asked, const SlowModel& model,
                        const Facts& facts) {
  std::uint64_t allocations = 0, requested = 0, ns = 0, null_frees = 0, releases = 0;
  for (const auto& [thread, calls] : trace.calls()) {
    std::uint64_t own = 0, own_ns = 0;
    for (const auto& call : calls) {
      if (!asked.is_counted(call) || !asked.is_chosen(thread)) continue;
      const bool is_block = trace::is_allocation(call.kind) && call.address != 0;
      // realloc(p, 0) is a release, counted with its block's thread below.
      const bool is_paired = trace::is_release(call.kind) && call.address != 0;
      own += is_block ? 1 : 0;
      own_ns += is_paired ? 0 : call.duration_ns;
      requested += is_block ? call.size : 0;
      null_frees += trace::is_release(call.kind) && call.address == 0 ? 1 : 0;
    }
    const auto found_releases = model.releases_of_thread.find(thread);
    if (found_releases != model.releases_of_thread.end()) {
      releases += found_releases->second;
      EXPECT_EQ(facts.threads.at(thread).releases, found_releases->second);
      own_ns += model.release_ns_of_thread.at(thread);
    }
    EXPECT_EQ(facts.threads.at(thread).allocations, own);
    EXPECT_EQ(facts.threads.at(thread).allocator_ns, own_ns) << thread;
    allocations += own;
    ns += own_ns;
  }
  EXPECT_EQ(facts.totals.allocations, allocations);
  EXPECT_EQ(facts.totals.requested_bytes, requested);
  EXPECT_EQ(facts.totals.null_frees, null_frees);
  EXPECT_EQ(facts.totals.releases, releases);
  EXPECT_EQ(facts.totals.allocator_ns, ns);
}

// No part is larger than what it is said to be a share of.
void expect_parts_within_wholes(const Facts& facts) {
  for (const auto& site : facts.sites) {
    EXPECT_LE(site.freed_by_other_thread, site.freed);
    EXPECT_LE(site.live_at_peak_bytes, facts.peak.live_bytes);
    EXPECT_LE(site.live_at_peak_bytes, site.own_peak_bytes);
    EXPECT_LE(site.allocator_ns + site.release_ns, facts.totals.allocator_ns);
    EXPECT_LE(site.temporaries, site.freed);
  }
  for (const auto& row : facts.realloc_chains) EXPECT_LE(row.moved, row.steps);
}

TEST_P(Differential, ARangeAndThreadsAgreeWithTheSlowModel) {
  const auto shape = GetParam();
  for (std::uint64_t seed = shape.first_seed; seed < shape.first_seed + 25; ++seed) {
    SCOPED_TRACE(seed);
    RandomTrace random(seed, shape.threads, shape.steps);
    for (std::uint32_t thread = 0; thread < shape.threads; ++thread) {
      random.trace.thread_records.emplace_back().index = thread;
    }
    const auto last_ns = random.trace.calls().begin()->second.back().begin_ns;
    std::mt19937_64 dice(seed);
    Asked asked;
    if (dice() % 4 != 0) asked.from_ns = dice() % (last_ns + 1);
    if (dice() % 2 != 0) asked.to_ns = asked.from_ns + dice() % last_ns;
    Options options;
    if (dice() % 3 != 0) {
      options.thread_chosen.assign(shape.threads, 0);
      for (std::uint32_t thread = 0; thread < shape.threads; ++thread) {
        if (thread != 0 && dice() % 2 == 0) continue;
        options.thread_chosen[thread] = 1;
        asked.threads.insert(thread);
      }
    }
    options.from_ns = asked.from_ns;
    options.to_ns = asked.to_ns;
    options.timeline_points = 16;
    const auto facts = analyze(random.trace, options, shape.limits);
    const SlowModel model(random.trace, asked);
    expect_same_totals(random.trace, asked, model, facts);
    expect_same_peak(model, facts);
    expect_same_fates(model, facts);
    expect_same_map(model, facts);
    expect_same_mappings(model, facts);
    expect_same_course(model, facts);
    expect_parts_within_wholes(facts);
    if (HasFailure()) {
      return;
    }
  }
}

TEST_P(Differential, AgreesWithTheSlowModel) {
  const auto shape = GetParam();
  for (std::uint64_t seed = shape.first_seed; seed < shape.first_seed + 25; ++seed) {
    SCOPED_TRACE(seed);
    RandomTrace random(seed, shape.threads, shape.steps);
    Options options;
    options.timeline_points = 64;
    const auto facts = analyze(random.trace, options, shape.limits);
    const SlowModel model(random.trace);
    expect_same_calls(random.trace, facts);
    expect_same_peak(model, facts);
    expect_same_fates(model, facts);
    expect_same_map(model, facts);
    expect_same_course(model, facts);
    expect_same_mappings(model, facts);
    expect_parts_within_wholes(facts);
    if (HasFailure()) {
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Differential,
                         testing::Values(Shape{100, 1, 800, {1U << 28, 0}},
                                         Shape{200, 2, 1500, {1U << 28, 1}},
                                         Shape{300, 7, 2000, {1U << 28, 2}},
                                         // so little room that every chunk is merged in slices
                                         Shape{400, 5, 4000, {0, 1}},
                                         // every release left to the decoding threads
                                         Shape{500, 3, 2000, {1U << 28, 2, 0}},
                                         Shape{600, 2, 3000, {0, 0, 0}}));

}  // namespace
}  // namespace heapwright::analyze
