// SPDX-License-Identifier: MIT
#include "python_module/event_streams.hpp"

#include <string>
#include <utility>

#include "analyze/events_table.hpp"
#include "analyze/sampling_weight.hpp"
#include "trace/kind_names.hpp"

namespace heapwright::python_module {
namespace {

using analyze::BlockColumns;
using analyze::EventColumns;

ColumnType u32(const char* name) { return {name, "I", nullptr, false}; }
ColumnType u64(const char* name) { return {name, "L", nullptr, false}; }
ColumnType f64(const char* name) { return {name, "g", nullptr, false}; }
ColumnType flag(const char* name) { return {name, "b", nullptr, false}; }

ColumnType nullable(ColumnType type) {
  type.is_nullable = true;
  return type;
}

ColumnType kind_column(const char* name) {
  static const auto names = [] {
    auto words = std::make_shared<Words>();
    for (std::size_t kind = 0; kind < 256; ++kind) {
      std::string word(trace::name_of(static_cast<trace::EventKind>(kind)));
      if (word == "?") word += std::to_string(kind);  // readers such as pandas require distinct words
      words->push_back(std::move(word));
    }
    return std::shared_ptr<const Words>(std::move(words));
  }();
  return {name, "C", names, false};
}

ColumnData bits_of(const std::vector<std::uint8_t>& flags) {
  std::vector<std::uint8_t> bits((flags.size() + 7) / 8);
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] != 0) bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | (1U << (i % 8)));
  }
  return column_of(std::move(bits));
}

// Marks rows of a column as missing if `present` has no bit.
template <typename T>
ColumnData where(const ColumnData& present, std::int64_t null_count, std::vector<T>&& values) {
  struct Both {
    std::vector<T> values;
    std::shared_ptr<const void> present;
  };
  auto both = std::make_shared<Both>(Both{std::move(values), present.owner});
  ColumnData column;
  column.values = both->values.data();
  column.validity = present.values;
  column.null_count = null_count;
  column.owner = std::move(both);
  return column;
}

// A column that the recording has no values for.
ColumnData missing(ColumnData column, std::int64_t rows) {
  struct Both {
    std::shared_ptr<const void> values;
    std::vector<std::uint8_t> none;
  };
  auto both = std::make_shared<Both>(
      Both{std::move(column.owner), std::vector<std::uint8_t>((static_cast<std::size_t>(rows) + 7) / 8)});
  column.validity = both->none.data();
  column.null_count = rows;
  column.owner = std::move(both);
  return column;
}

// How many calls or blocks a row stands for, if the row itself shows it.
class Weights {
 public:
  explicit Weights(const trace::Reader& reader) : weight_(reader.metadata().sample_mean_bytes) {}

  bool is_sampled() const noexcept { return weight_.is_sampled(); }

  ColumnData of(const BlockColumns& rows) const {
    std::vector<double> weights(rows.count(), 1);
    for (std::size_t i = 0; is_sampled() && i < weights.size(); ++i) weights[i] = weight_.real(rows.size[i]);
    return column_of(std::move(weights));
  }

  // A free stands for as many calls as its block, which is in another row.
  ColumnData of(const EventColumns& rows) const {
    std::vector<double> weights(rows.count(), 1);
    std::vector<std::uint8_t> is_known(rows.count(), 1);
    std::int64_t unknown = 0;
    for (std::size_t i = 0; is_sampled() && i < weights.size(); ++i) {
      const auto kind = static_cast<trace::EventKind>(rows.kind[i]);
      if (trace::is_allocation(kind)) weights[i] = weight_.real(rows.size[i]);
      if (trace::is_release(kind)) is_known[i] = 0;
      unknown += trace::is_release(kind) ? 1 : 0;
    }
    return where(bits_of(is_known), unknown, std::move(weights));
  }

 private:
  analyze::SamplingWeight weight_;
};

std::vector<std::uint32_t> sites_of(const std::vector<std::uint32_t>& stacks,
                                    const SiteOfStack& site_of_stack) {
  std::vector<std::uint32_t> sites;
  sites.reserve(stacks.size());
  for (const std::uint32_t stack : stacks) {
    sites.push_back(stack < site_of_stack->size() ? (*site_of_stack)[stack] : stack);
  }
  return sites;
}

class EventSource : public BatchSource {
 public:
  EventSource(std::shared_ptr<const trace::Reader> reader, SiteOfStack sites)
      : reader_(std::move(reader)), sites_(std::move(sites)), weights_(*reader_), table_(*reader_) {}

  const std::vector<ColumnType>& schema() const override { return types_; }

  bool next(Batch& batch) override {
    EventColumns rows;
    if (!table_.next(rows)) return false;
    batch.rows = static_cast<std::int64_t>(rows.count());
    auto sites = sites_of(rows.stack, sites_);
    auto weights = weights_.of(rows);
    auto durations = column_of(std::move(rows.duration_ns));
    if (!reader_->metadata().durations_recorded) durations = missing(std::move(durations), batch.rows);
    batch.columns = {column_of(std::move(rows.thread)),
                     column_of(std::move(rows.sequence)),
                     column_of(std::move(rows.kind)),
                     column_of(std::move(rows.begin_ns)),
                     std::move(durations),
                     column_of(std::move(rows.size)),
                     column_of(std::move(rows.usable)),
                     column_of(std::move(rows.alignment)),
                     column_of(std::move(rows.address)),
                     column_of(std::move(rows.old_address)),
                     column_of(std::move(rows.stack)),
                     column_of(std::move(sites)),
                     std::move(weights)};
    return true;
  }

 private:
  std::shared_ptr<const trace::Reader> reader_;
  SiteOfStack sites_;
  Weights weights_;
  analyze::EventTable table_;
  std::vector<ColumnType> types_ = {
      u32("thread"), u64("sequence"), kind_column("kind"),    u64("begin_ns"), nullable(u32("duration_ns")),
      u64("size"),   u64("usable"),   u64("alignment"),       u64("address"),  u64("old_address"),
      u32("stack"),  u32("site"),     nullable(f64("weight"))};
};

class BlockSource : public BatchSource {
 public:
  BlockSource(std::shared_ptr<const trace::Reader> reader, SiteOfStack sites)
      : reader_(std::move(reader)), sites_(std::move(sites)), weights_(*reader_), table_(*reader_) {}

  const std::vector<ColumnType>& schema() const override { return types_; }

  bool next(Batch& batch) override {
    BlockColumns rows;
    if (!table_.next(rows)) return false;
    batch.rows = static_cast<std::int64_t>(rows.count());
    std::vector<std::uint64_t> lifetimes(rows.count());
    std::int64_t live = 0;
    for (std::size_t i = 0; i < rows.count(); ++i) {
      live += rows.is_freed[i] == 0 ? 1 : 0;
      const bool has_lifetime = rows.is_freed[i] != 0 && rows.end_ns[i] >= rows.begin_ns[i];
      lifetimes[i] = has_lifetime ? rows.end_ns[i] - rows.begin_ns[i] : 0;
    }
    const ColumnData freed = bits_of(rows.is_freed);
    auto weights = weights_.of(rows);
    // Whether a block is temporary depends on all of a thread's calls between its allocation and its free.
    auto temporary = bits_of(rows.is_temporary);
    if (weights_.is_sampled()) temporary = missing(std::move(temporary), batch.rows);
    auto sites = sites_of(rows.stack, sites_);
    batch.columns = {column_of(std::move(rows.address)),
                     column_of(std::move(rows.size)),
                     column_of(std::move(rows.usable)),
                     column_of(std::move(rows.alignment)),
                     column_of(std::move(rows.kind)),
                     column_of(std::move(rows.thread)),
                     column_of(std::move(rows.stack)),
                     column_of(std::move(sites)),
                     column_of(std::move(rows.begin_ns)),
                     freed,
                     where(freed, live, std::move(rows.end_ns)),
                     where(freed, live, std::move(lifetimes)),
                     where(freed, live, std::move(rows.free_thread)),
                     where(freed, live, std::move(rows.free_kind)),
                     where(freed, live, std::move(rows.free_stack)),
                     std::move(temporary),
                     std::move(weights)};
    return true;
  }

 private:
  std::shared_ptr<const trace::Reader> reader_;
  SiteOfStack sites_;
  Weights weights_;
  analyze::BlockTable table_;
  std::vector<ColumnType> types_ = {u64("address"),
                                    u64("size"),
                                    u64("usable"),
                                    u64("alignment"),
                                    kind_column("kind"),
                                    u32("thread"),
                                    u32("stack"),
                                    u32("site"),
                                    u64("begin_ns"),
                                    flag("is_freed"),
                                    nullable(u64("end_ns")),
                                    nullable(u64("lifetime_ns")),
                                    nullable(u32("free_thread")),
                                    nullable(kind_column("free_kind")),
                                    nullable(u32("free_stack")),
                                    nullable(flag("is_temporary")),
                                    f64("weight")};
};

}  // namespace

std::unique_ptr<BatchSource> event_source(std::shared_ptr<const trace::Reader> reader,
                                          SiteOfStack site_of_stack) {
  return std::make_unique<EventSource>(std::move(reader), std::move(site_of_stack));
}

std::unique_ptr<BatchSource> block_source(std::shared_ptr<const trace::Reader> reader,
                                          SiteOfStack site_of_stack) {
  return std::make_unique<BlockSource>(std::move(reader), std::move(site_of_stack));
}

}  // namespace heapwright::python_module
