// SPDX-License-Identifier: MIT
// Converts a decoded chunk to rows for the merge. Meanwhile every call is counted into the order-free facts,
// while it is in the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "analyze/calls.hpp"
#include "analyze/held_pages.hpp"
#include "analyze/mmap_threshold.hpp"
#include "analyze/row.hpp"
#include "analyze/scope.hpp"
#include "order/source.hpp"
#include "trace/event.hpp"

namespace heapwright::analyze {

// Chunks that turned out to be unreadable; shared by all workers.
class SkippedChunks {
 public:
  void add(const trace::EventChunk& chunk, const char* what);
  // Call after the workers have finished.
  const std::vector<trace::Damage>& damage() const noexcept { return damage_; }
  std::uint64_t events() const noexcept { return events_; }

 private:
  std::mutex mutex_;
  std::vector<trace::Damage> damage_;
  std::uint64_t events_ = 0;
};

// The state of one decoding thread.
class Preparer {
 public:
  // slice_events: how many events to prepare at a time.
  Preparer(const order::Source& source, const Scope& scope, std::uint32_t slice_events,
           SkippedChunks& skipped);

  void prepare(const order::ScheduledChunk& job, std::uint32_t first_event, Piece& piece);
  CallFacts& calls() noexcept { return calls_; }
  const HeldPages& held_pages() const noexcept { return held_pages_; }
  // Pages of blocks that are large but in the C library's arenas.
  const HeldPages& large_pages() const noexcept { return large_pages_; }

 private:
  using Columns = trace::EventColumns<const trace::EventBatch>;

  void mark_pages(std::uint64_t address, std::uint64_t size, std::uint64_t usable) {
    held_pages_.mark(address, usable);
    const bool is_large = size >= MmapThreshold::first_bytes && !is_mapped_chunk(usable);
    if (is_large && scope_.is_glibc) [[unlikely]] {
      large_pages_.mark(address, usable);
    }
  }
  template <bool is_counted, bool follows_blocks>
  void add_events(std::size_t from, std::size_t to);
  template <bool follows_blocks>
  void add_slice(std::size_t from, std::size_t to);
  template <bool is_counted, bool follows_blocks>
  void add_block(const Columns& columns, std::size_t index, Row& row, CallSums& sums);
  template <bool is_counted, bool follows_blocks>
  Row* add_rare(const Columns& columns, std::size_t index, Row* row, CallSums& sums);
  void put_release(const Columns& columns, std::size_t index, int flags, Row& row);
  bool put_realloc_release(std::size_t index, Row& row);
  bool put_mapping(std::size_t index, bool is_chosen, Row& row);
  void add_null_free(std::size_t index, CallSums& sums);
  void add_option(std::size_t index);
  void add_other(std::size_t index, CallSums& sums);
  bool add_without_block(std::size_t index, std::uint64_t bytes, CallSums& sums);
  void note_events(std::size_t from);
  template <bool is_counted>
  std::size_t note(std::size_t index, const Row* first, const Row* end, CallSums& sums);
  void put_wide(Row& row, std::uint64_t size, std::uint64_t excess, std::uint64_t weight);

  const Scope& scope_;
  SkippedChunks& skipped_;
  const std::uint32_t slice_events_;
  std::unique_ptr<order::ChunkDecoder> decoder_;
  CallFacts calls_;
  const bool keeps_pages_;  // only a trace with scans needs to know which pages held blocks
  HeldPages held_pages_;
  HeldPages large_pages_;
  trace::EventBatch batch_;
  // The current chunk.
  const order::ScheduledChunk* job_ = nullptr;
  std::uint32_t thread_ = 0;
  Piece* piece_ = nullptr;
  Row* next_row_ = nullptr;
  // Its events that are slow, or in which the kernel did something.
  std::vector<trace::EventKernelWork> noted_;
  std::size_t next_noted_ = 0;
};

}  // namespace heapwright::analyze
