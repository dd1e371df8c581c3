// SPDX-License-Identifier: MIT
// The pipeline:
//
//   chunks ─ Preparer (decode, CallFacts) ─ order::DecodeAhead ─ order::Merge ─ HeapModel ─ ReleaseFacts
//            several threads                one thread                        any of them
//
// Facts of a single call are counted while it is decoded; facts that depend on order, once the rows are in
// order of time. Paired releases are counted either at once by the ordering thread, which is the least work
// in total, or later by the decoding threads while they are ahead of it.
#include "analyze/analyze.hpp"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "analyze/activity.hpp"
#include "analyze/calls.hpp"
#include "analyze/completeness.hpp"
#include "analyze/facts.hpp"
#include "analyze/facts/activity.hpp"
#include "analyze/facts/calls.hpp"
#include "analyze/facts/heap_parts.hpp"
#include "analyze/facts/mappings.hpp"
#include "analyze/facts/page_cells.hpp"
#include "analyze/facts/patterns.hpp"
#include "analyze/facts/realloc_chains.hpp"
#include "analyze/facts/sites.hpp"
#include "analyze/facts/threads.hpp"
#include "analyze/facts/timeline.hpp"
#include "analyze/heap_model.hpp"
#include "analyze/options.hpp"
#include "analyze/prepare.hpp"
#include "analyze/processor.hpp"
#include "analyze/recorder_cost.hpp"
#include "analyze/refaults.hpp"
#include "analyze/releases.hpp"
#include "analyze/residency.hpp"
#include "analyze/sampled_facts.hpp"
#include "analyze/scope.hpp"
#include "order/decode_ahead.hpp"
#include "order/merge.hpp"
#include "order/schedule.hpp"

namespace heapwright::analyze {
namespace {

// With more decoders than this, they wait for the merge, which is single-threaded.
constexpr unsigned most_workers = 3;
// With fewer events, starting a thread takes longer than the work.
constexpr std::uint64_t events_worth_a_thread = 100'000;
// Larger thread numbers are considered damage.
constexpr std::uint32_t thread_limit = std::uint32_t{1} << 22;

unsigned worker_count(const PipelineLimits& limits, const order::Schedule& schedule) {
  if (limits.workers != UINT32_MAX) {
    return limits.workers;
  }
  if (schedule.events < events_worth_a_thread || schedule.jobs.size() < 2) {
    return 0;
  }
  const auto cores = std::max(std::thread::hardware_concurrency(), 1U);
  return std::min(cores - 1, most_workers);
}

// Components that observe the rows before the model does.
struct Watchers {
  ResidencyJoin& residency;
  RefaultJoin& refaults;
  Activity& activity;

  // Where the rows must be split.
  std::uint64_t next_ns() const noexcept { return std::min(residency.next_ns(), activity.next_ns()); }
  void add(const order::Run<Piece>& run, const Blocks& blocks) {
    if (residency.wants_rows()) {
      residency.add(run, blocks);
    }
    if (refaults.wants_rows()) {
      refaults.add(run);
    }
    activity.add(run);
  }
  void pass(const HeapModel& model) {
    const auto now_ns = next_ns();
    if (residency.next_ns() == now_ns) {
      residency.pass(model.blocks(), model.mappings(), model.live().live_bytes());
    }
    if (activity.next_ns() == now_ns) {
      activity.pass(model.lives());
    }
  }
};

// Adds the run, split where a scan of resident pages or a bin begins.
void add_run(order::Run<Piece> run, bool leaves_releases, HeapModel& model, Watchers& watchers) {
  const auto add = [&](const order::Run<Piece>& part) {
    // Before the model changes the rows.
    watchers.add(part, model.blocks());
    model.add(part, leaves_releases);
  };
  const auto* const rows = run.piece->rows();
  while (run.from < run.to && rows[run.to - 1].time_ns >= watchers.next_ns()) {
    const auto* const border = std::partition_point(
        rows + run.from, rows + run.to, [&](const Row& row) { return row.time_ns < watchers.next_ns(); });
    const auto to = static_cast<std::size_t>(border - rows);
    if (to > run.from) {
      auto part = run;
      part.to = to;
      add(part);
      run.from = to;
    }
    watchers.pass(model);
  }
  if (run.from < run.to) {
    add(run);
  }
}

void merge_all(const order::Schedule& schedule, order::DecodeAhead<Piece>& ahead, const Options& options,
               std::uint32_t pieces_to_leave_releases, HeapModel& model, Watchers watchers) {
  order::Merge<Piece> merge(schedule, ahead);
  order::Run<Piece> run;
  std::size_t loaded = 0;
  std::uint64_t events_done = 0;
  while (merge.next(run)) {
    add_run(run, ahead.pieces_ahead() >= pieces_to_leave_releases, model, watchers);
    if (!options.on_progress) {
      continue;
    }
    for (; loaded < merge.chunks_loaded(); ++loaded) {
      events_done += schedule.jobs[loaded].chunk->count;
      options.on_progress(events_done, schedule.events);
    }
  }
  ahead.finish();
  // Scans that end after the last call.
  while (watchers.residency.next_ns() != UINT64_MAX) {
    watchers.pass(model);
  }
  if (options.on_progress) {
    options.on_progress(schedule.events, schedule.events);
  }
}

void finish_residency(const std::vector<std::unique_ptr<Preparer>>& preparers, ResidencyJoin& residency,
                      Facts& facts) {
  HeldPages held;
  HeldPages large;
  for (const auto& preparer : preparers) {
    held.add(preparer->held_pages());
    large.add(preparer->large_pages());
  }
  residency.finish(held, large, facts);
}

std::size_t thread_rows(const order::Source& source, const order::Schedule& schedule) {
  std::size_t rows = 0;
  for (const auto& thread : source.threads()) {
    rows = std::max(rows, std::size_t{thread.index} + 1);
  }
  for (const auto thread : schedule.thread_of_lane) {
    rows = std::max(rows, std::size_t{thread} + 1);
  }
  if (rows > thread_limit) {
    throw trace::TraceError("the trace names thread " + std::to_string(rows - 1) +
                            ", more than a process can have: record it again");
  }
  return rows;
}

std::vector<BySizeClass> all_size_classes() {
  std::vector<BySizeClass> rows(size_class_count);
  for (std::size_t index = 0; index < size_class_count; ++index) {
    rows[index].from_bytes = size_class_from(index);
    rows[index].to_bytes = size_class_to(index);
  }
  return rows;
}

// Keeps the size classes between the smallest and the largest used one.
void drop_unused_classes(std::vector<BySizeClass>& rows) {
  const auto is_used = [](const BySizeClass& row) {
    return row.allocations != 0 || row.live_at_peak_blocks != 0 || row.release_latency.calls != 0;
  };
  const auto last = std::find_if(rows.rbegin(), rows.rend(), is_used).base();
  rows.erase(last, rows.end());
  rows.erase(rows.begin(), std::find_if(rows.begin(), rows.end(), is_used));
}

bool is_everything(const Options& options) {
  return options.from_ns == 0 && options.to_ns == UINT64_MAX && options.min_size_bytes == 0 &&
         options.max_size_bytes == UINT64_MAX && options.thread_chosen.empty() &&
         options.stack_chosen.empty();
}

void look_for_missing_calls(const order::Source& source, const Options& options, Facts& facts) {
  add_contradictions(facts.totals, facts.completeness);
  if (is_everything(options)) add_own_memory(source, facts.mappings, facts.peak, facts.completeness);
}

// What does not depend on single calls.
void finish_run(const order::Source& source, const Scope& scope, const Options& options,
                RefaultJoin& refaults, Facts& facts) {
  facts.totals.span_ns = scope.steps.span_ns();
  facts.coverage = scope.recorded.within(options.from_ns, options.to_ns);
  facts.processor = processor_of(source, facts.coverage, options.from_ns);
  refaults.finish(facts);
  facts.recorder = recorder_cost_of(source, facts.by_kind);
}

}  // namespace

Facts analyze(const order::Source& source, const Options& options, const PipelineLimits& limits) {
  const auto schedule = order::make_schedule(source.event_chunks(), options.to_ns);
  const Scope scope(options, source, schedule, limits);
  Facts facts;
  facts.threads.resize(thread_rows(source, schedule));
  facts.timeline.resize(scope.steps.points());
  facts.by_size = all_size_classes();

  SkippedChunks skipped;
  const auto slice_events = schedule.slice_events(limits.merge_bytes, sizeof(Row));
  const auto workers = worker_count(limits, schedule);
  std::vector<std::unique_ptr<Preparer>> preparers;
  std::vector<std::unique_ptr<ReleaseFacts>> releases;
  for (unsigned index = 0; index <= workers; ++index) {
    preparers.push_back(std::make_unique<Preparer>(source, scope, slice_events, skipped));
    releases.push_back(std::make_unique<ReleaseFacts>(scope));
  }
  HeapModel model(scope, *releases[0]);
  ResidencyJoin residency(source, scope);
  RefaultJoin refaults(source, scope);
  Activity activity(scope);
  {
    order::DecodeAhead<Piece> ahead(
        schedule, workers,
        [&](unsigned worker, const order::ScheduledChunk& job, std::uint32_t from, Piece& piece) {
          preparers[worker]->prepare(job, from, piece);
        },
        [&](unsigned worker, Piece& piece) {
          if (piece.has_paired_rows) {
            releases[worker]->add(piece);
          }
        });
    merge_all(schedule, ahead, options, limits.pieces_to_leave_releases, model,
              {residency, refaults, activity});
  }
  auto& calls = preparers[0]->calls();
  calls.settle();
  for (unsigned index = 1; index <= workers; ++index) {
    preparers[index]->calls().settle();
    calls.add(preparers[index]->calls());
    releases[0]->add(*releases[index]);
  }
  calls.add_releases(releases[0]->latencies());
  calls.finish(facts);
  model.finish(source.memory_samples(), calls.sites(), facts);
  releases[0]->finish(model.live(), facts);
  finish_residency(preparers, residency, facts);
  activity.finish(model.lives(), facts);
  calls.causes().add(model.causes());
  calls.causes().finish(scope.sites, facts);
  fold_stacks_into_sites(scope.sites, facts);
  drop_unused_classes(facts.by_size);
  if (scope.weight.is_sampled()) {
    divide_weights(scope.weight.unit(), facts);
  }
  facts.completeness = completeness_of(source, skipped.damage(), skipped.events());
  finish_run(source, scope, options, refaults, facts);
  look_for_missing_calls(source, options, facts);
  return facts;
}

Facts analyze(const trace::Reader& reader, const Options& options) {
  return analyze(*order::make_source(reader), options, PipelineLimits{});
}

}  // namespace heapwright::analyze
