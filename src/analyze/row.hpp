// SPDX-License-Identifier: MIT
// A heap call reduced to what pairing needs: one row per address that becomes live or dead. A realloc that
// moves a block is two rows, so that other threads' calls may come in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "order/merge.hpp"
#include "order/schedule.hpp"
#include "trace/event.hpp"
#include "trace/kernel_work.hpp"

namespace heapwright::analyze {

enum RowFlag : std::uint8_t {
  row_acquires = 1,      // otherwise it releases
  row_in_realloc = 2,    // one of the two sides of a realloc
  row_is_wide = 4,       // `size` is an index into Piece::wide
  row_not_chosen = 8,    // filtered out: paired, but not counted
  row_size_stated = 16,  // a sized release: `size` is the caller's
  // Set once a release has found its block:
  row_by_other_thread = 32,
  // A mapping instead of a block: `size` is an index into Piece::mappings, and the address is odd, unlike any
  // block's. Also malloc_trim, with an empty MappingRow.
  row_is_mapping = 128,
  row_paired = 64,  // and is to be counted: `size` and `stack` are the block's, `address` is its lifetime
};

// time_ns: an acquisition's end, a release's begin.
struct Row {
  std::uint64_t address;
  std::uint64_t time_ns;
  std::uint32_t size;
  std::uint32_t stack;
  std::uint32_t duration_ns;
  std::uint16_t excess;  // usable - size
  trace::EventKind kind;
  std::uint8_t flags;

  // Precondition: row_paired.
  std::uint64_t lifetime_ns() const noexcept { return address; }
  // The release, or realloc, of a block of this size and stack.
  void pair(std::uint64_t lifetime_ns, std::uint32_t size_bytes, std::uint32_t block_stack) noexcept {
    address = lifetime_ns;
    size = size_bytes;
    stack = block_stack;
    flags |= row_paired;
  }
};
static_assert(sizeof(Row) == 32);

// Data that does not fit into a row.
struct WideRow {
  std::uint64_t size = 0;
  std::uint64_t excess = 0;
  std::uint64_t weight = 1;
};

// mmap, munmap, mremap, mprotect and madvise.
struct MappingRow {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t old_address = 0;  // mremap's
  std::uint64_t detail = 0;       // the event's usable field: see trace/event.hpp
};

// A row whose call was slow, or in which the kernel did something.
struct NotedRow {
  std::size_t row = 0;
  trace::KernelWork work;
};

// The rows of one chunk, or of a slice of it. Memory is kept between uses and not cleared: a fresh megabyte
// per chunk would cost more in page faults than the rows do.
class Piece {
 public:
  // Rows beyond count() that may be read (for prefetching); zeroed by close.
  static constexpr std::size_t padding = 32;

  const order::ScheduledChunk* job = nullptr;
  std::vector<WideRow> wide;
  std::vector<MappingRow> mappings;
  std::vector<NotedRow> noted;   // by row
  bool has_paired_rows = false;  // possibly

  // Empties the piece and makes room for `capacity` rows.
  Row* open(std::size_t capacity) {
    wide.clear();
    mappings.clear();
    noted.clear();
    has_paired_rows = false;
    count_ = 0;
    if (capacity + padding > capacity_) {
      capacity_ = capacity + padding;
      rows_ = std::make_unique_for_overwrite<Row[]>(capacity_);
    }
    return rows_.get();
  }
  void close(const Row* end, std::uint32_t next_event) {
    count_ = static_cast<std::size_t>(end - rows_.get());
    next_event_ = next_event;
    for (std::size_t index = count_; index < count_ + padding; ++index) {
      rows_[index] = Row{};
    }
  }

  Row* rows() noexcept { return rows_.get(); }
  const Row* rows() const noexcept { return rows_.get(); }
  std::size_t count() const noexcept { return count_; }
  std::uint32_t next_event() const noexcept { return next_event_; }
  std::uint64_t key(std::size_t index) const noexcept {
    return order::merge_key(rows_[index].time_ns, (rows_[index].flags & row_acquires) != 0);
  }

 private:
  std::unique_ptr<Row[]> rows_;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
  std::uint32_t next_event_ = 0;
};

}  // namespace heapwright::analyze
