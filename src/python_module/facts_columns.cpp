// SPDX-License-Identifier: MIT
#include "python_module/facts_columns.hpp"

#include <bit>
#include <span>
#include <stdexcept>

namespace heapwright::python_module {
namespace {

using namespace analyze;

// A visitor is called with (name, member) for every field of a struct.
template <typename Visitor>
void fields(const Latency& of, Visitor&& visit) {
  visit("calls", of.calls), visit("sum_ns", of.sum_ns), visit("max_ns", of.max_ns);
  visit("p50_ns", of.p50_ns), visit("p90_ns", of.p90_ns), visit("p99_ns", of.p99_ns);
  visit("p999_ns", of.p999_ns), visit("p9999_ns", of.p9999_ns);
}

template <typename Visitor>
void fields(const Totals& of, Visitor&& visit) {
  visit("events", of.events), visit("allocations", of.allocations), visit("releases", of.releases);
  visit("reallocs", of.reallocs), visit("failed", of.failed), visit("null_frees", of.null_frees);
  visit("requested_bytes", of.requested_bytes), visit("usable_bytes", of.usable_bytes);
  visit("unknown_releases", of.unknown_releases), visit("reused_live_addresses", of.reused_live_addresses);
  visit("mapped_bytes", of.mapped_bytes), visit("unmapped_bytes", of.unmapped_bytes);
  visit("zero_size", of.zero_size), visit("allocator_ns", of.allocator_ns), visit("span_ns", of.span_ns);
  visit("size_mismatches", of.size_mismatches);
  visit("releases_from_before", of.releases_from_before);
  visit("releases_in_pauses", of.releases_in_pauses);
  visit("inherited_releases", of.inherited_releases);
}

template <typename Visitor>
void fields(const Peak& of, Visitor&& visit) {
  visit("time_ns", of.time_ns), visit("live_bytes", of.live_bytes);
  visit("live_usable_bytes", of.live_usable_bytes), visit("live_blocks", of.live_blocks);
}

template <typename Visitor>
void fields(const ByKind& of, Visitor&& visit) {
  visit("kind", of.kind), visit("calls", of.calls), visit("bytes", of.bytes), visit("latency", of.latency);
}

template <typename Visitor>
void fields(const BySizeClass& of, Visitor&& visit) {
  visit("from_bytes", of.from_bytes), visit("to_bytes", of.to_bytes), visit("allocations", of.allocations);
  visit("bytes", of.bytes), visit("overhead_bytes", of.overhead_bytes);
  visit("live_at_peak_blocks", of.live_at_peak_blocks), visit("live_at_peak_bytes", of.live_at_peak_bytes);
  visit("allocation_latency", of.allocation_latency), visit("release_latency", of.release_latency);
}

template <typename Visitor>
void fields(const Site& of, Visitor&& visit) {
  visit("allocations", of.allocations), visit("bytes", of.bytes), visit("overhead_bytes", of.overhead_bytes);
  visit("reallocs", of.reallocs), visit("temporaries", of.temporaries);
  visit("freed_by_other_thread", of.freed_by_other_thread), visit("allocator_ns", of.allocator_ns);
  visit("release_ns", of.release_ns), visit("live_at_peak_blocks", of.live_at_peak_blocks);
  visit("live_at_peak_bytes", of.live_at_peak_bytes), visit("live_at_end_blocks", of.live_at_end_blocks);
  visit("live_at_end_bytes", of.live_at_end_bytes);
  visit("live_at_end_parts", of.live_at_end_parts), visit("own_peak_bytes", of.own_peak_bytes);
  visit("lifetime_sum_ns", of.lifetime_sum_ns), visit("freed", of.freed);
  visit("live_at_pause_blocks", of.live_at_pause_blocks);
  visit("live_at_pause_bytes", of.live_at_pause_bytes);
}

template <typename Visitor>
void fields(const ByThread& of, Visitor&& visit) {
  visit("allocations", of.allocations), visit("releases", of.releases), visit("bytes", of.bytes);
  visit("allocator_ns", of.allocator_ns), visit("temporaries", of.temporaries);
  visit("peak_live_bytes", of.peak_live_bytes);
}

template <typename Visitor>
void fields(const CrossThread& of, Visitor&& visit) {
  visit("allocating_thread", of.allocating_thread), visit("freeing_thread", of.freeing_thread);
  visit("blocks", of.blocks), visit("bytes", of.bytes);
}

template <typename Visitor>
void fields(const ReallocChains& of, Visitor&& visit) {
  visit("site", of.site), visit("chains", of.chains), visit("steps", of.steps), visit("moved", of.moved);
  visit("copied_bytes", of.copied_bytes), visit("longest_steps", of.longest_steps);
  visit("final_bytes", of.final_bytes);
}

template <typename Visitor>
void fields(const SlowCall& of, Visitor&& visit) {
  visit("begin_ns", of.begin_ns), visit("duration_ns", of.duration_ns), visit("kind", of.kind);
  visit("thread", of.thread), visit("stack", of.stack), visit("size_bytes", of.size_bytes);
}

template <typename Visitor>
void fields(const TimelinePoint& of, Visitor&& visit) {
  visit("time_ns", of.time_ns), visit("live_bytes", of.live_bytes);
  visit("live_usable_bytes", of.live_usable_bytes), visit("live_blocks", of.live_blocks);
  visit("highest_live_bytes", of.highest_live_bytes);
  visit("usable_at_highest_bytes", of.usable_at_highest_bytes), visit("resident_bytes", of.resident_bytes);
  visit("resident_file_bytes", of.resident_file_bytes);
  visit("resident_shared_bytes", of.resident_shared_bytes);
  visit("allocations", of.allocations), visit("releases", of.releases),
      visit("allocator_ns", of.allocator_ns);
}

template <typename Visitor>
void fields(const MappingSite& of, Visitor&& visit) {
  visit("site", of.site), visit("calls", of.calls), visit("bytes", of.bytes);
  visit("unmapped_bytes", of.unmapped_bytes), visit("at_end_bytes", of.at_end_bytes);
}

template <typename Visitor>
void fields(const RecorderCost& of, Visitor&& visit) {
  visit("calls_ns", of.calls_ns), visit("waited_ns", of.waited_ns), visit("peak_bytes", of.peak_bytes);
  visit("file_bytes", of.file_bytes);
}

template <typename Visitor>
void fields(const Spread& of, Visitor&& visit) {
  visit("variance", of.variance), visit("largest", of.largest);
}

template <typename Visitor>
void fields(const CallSpread& of, Visitor&& visit) {
  visit("allocations", of.allocations), visit("bytes", of.bytes), visit("overhead", of.overhead);
}

template <typename Visitor>
void fields(const LiveSpread& of, Visitor&& visit) {
  visit("peak_blocks", of.peak_blocks), visit("peak_bytes", of.peak_bytes);
  visit("end_blocks", of.end_blocks), visit("end_bytes", of.end_bytes);
}

template <typename Visitor>
void fields(const StepSpread& of, Visitor&& visit) {
  visit("live_bytes", of.live_bytes), visit("allocations", of.allocations);
}

// A number as 64 bits: integers as such, doubles by their representation.
template <typename Value>
std::uint64_t bits_of(Value value) {
  if constexpr (std::is_floating_point_v<Value>) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

template <typename Visitor>
void fields(const std::pair<std::uint64_t, std::uint64_t>& of, Visitor&& visit) {
  visit("size_bytes", of.first), visit("allocations", of.second);
}

// Appends one row; columns come into being with the first.
class RowWriter {
 public:
  explicit RowWriter(NumberTable& table) : table_(table) {}

  template <typename Row>
  void add(const Row& row) {
    next_ = 0;
    write(row, "");
  }

 private:
  template <typename Row>
  void write(const Row& row, const std::string& prefix) {
    fields(row, [&](const char* name, const auto& value) {
      if constexpr (std::is_class_v<std::remove_cvref_t<decltype(value)>>) {
        write(value, prefix + name + ".");
      } else {
        if (next_ == table_.size()) table_.push_back({prefix + name, {}});
        table_[next_++].values.push_back(bits_of(value));
      }
    });
  }

  NumberTable& table_;
  std::size_t next_ = 0;
};

// An empty table still has its columns: they come from a default row.
template <typename Row>
NumberTable table_of(std::span<const Row> rows) {
  NumberTable table;
  RowWriter writer(table);
  writer.add(Row{});
  for (NumberColumn& column : table) {
    column.values.clear();
    column.values.reserve(rows.size());
  }
  for (const Row& row : rows) writer.add(row);
  return table;
}

template <typename Row>
NumberTable table_of(const std::vector<Row>& rows) {
  return table_of(std::span<const Row>(rows));
}

template <typename Row>
NumberTable single(const Row& row) {
  return table_of(std::span<const Row>(&row, 1));
}

NumberTable site_latency(const Facts& facts) {
  std::vector<Latency> latencies;
  latencies.reserve(facts.site_details.size());
  for (const SiteDetail& detail : facts.site_details) latencies.push_back(detail.allocation_latency);
  return table_of(latencies);
}

}  // namespace

NumberTable facts_table(const Facts& facts, const std::string& name) {
  if (name == "totals") return single(facts.totals);
  if (name == "peak") return single(facts.peak);
  if (name == "allocation_latency") return single(facts.allocation_latency);
  if (name == "release_latency") return single(facts.release_latency);
  if (name == "recorder") return single(facts.recorder);
  if (name == "by_kind") return table_of(facts.by_kind);
  if (name == "by_size") return table_of(facts.by_size);
  if (name == "common_sizes") return table_of(facts.common_sizes);
  if (name == "sites") return table_of(facts.sites);
  if (name == "site_latency") return site_latency(facts);
  if (name == "stacks") return table_of(facts.stacks);
  if (name == "threads") return table_of(facts.threads);
  if (name == "cross_thread") return table_of(facts.cross_thread);
  if (name == "realloc_chains") return table_of(facts.realloc_chains);
  if (name == "mappings") return table_of(facts.mappings);
  if (name == "slowest") return table_of(facts.slowest);
  if (name == "timeline") return table_of(facts.timeline);
  if (name == "total_calls") return table_of(facts.spreads.total_calls);
  if (name == "total_live") return table_of(facts.spreads.total_live);
  if (name == "site_calls") return table_of(facts.spreads.site_calls);
  if (name == "site_live") return table_of(facts.spreads.site_live);
  if (name == "class_calls") return table_of(facts.spreads.class_calls);
  if (name == "class_live") return table_of(facts.spreads.class_live);
  if (name == "thread_calls") return table_of(facts.spreads.thread_calls);
  if (name == "steps") return table_of(facts.spreads.steps);
  throw std::out_of_range("no facts table is called " + name);
}

}  // namespace heapwright::python_module
