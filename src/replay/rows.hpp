// SPDX-License-Identifier: MIT
// Heap calls reduced to what a replay needs, ready for the merge: a row for each block that is allocated or
// freed. A realloc is two rows, because the old block's address is free for others before the new one is
// taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "order/merge.hpp"
#include "order/schedule.hpp"
#include "order/source.hpp"

namespace heapwright::replay {

enum class Step : std::uint8_t {
  makes,
  releases,
  moves_from,  // the realloc's old block; moves_to follows in the same lane
  moves_to,
  fails,  // no block was returned
  tunes,  // malloc_trim, mallopt
  maps,   // private anonymous memory, mapped directly
  unmaps,
  annotates,  // a phase ends, or a piece of its name, in address and size
};

// time_ns: the begin of the call; its end if a block is allocated.
struct Row {
  std::uint64_t address = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t size = 0;
  std::uint32_t stack = 0;
  trace::EventKind kind = trace::EventKind::none;
  std::uint8_t alignment_log2 = 0;
  Step step = Step::makes;
};
static_assert(sizeof(Row) == 32);

class Piece {
 public:
  const order::ScheduledChunk* job = nullptr;
  std::vector<Row> rows;
  std::vector<std::uint32_t> durations_ns;  // if requested: of calls whose row is at their end

  std::size_t count() const noexcept { return rows.size(); }
  std::uint32_t next_event() const noexcept { return next_event_; }
  void set_next_event(std::uint32_t event) noexcept { next_event_ = event; }
  std::uint64_t key(std::size_t index) const noexcept {
    const auto step = rows[index].step;
    return order::merge_key(rows[index].time_ns, step == Step::makes || step == Step::moves_to);
  }

 private:
  std::uint32_t next_event_ = 0;
};

// One per decoding thread.
class RowMaker {
 public:
  struct With {
    bool phases = false;     // also make rows for phase ends
    bool durations = false;  // of calls
  };
  RowMaker(const order::Source& source, std::uint32_t slice_events, With with);

  // Replaces the piece's rows by those of the job's chunk, from `first_event` on: all, or a slice. A damaged
  // chunk gives none.
  void make(const order::ScheduledChunk& job, std::uint32_t first_event, Piece& piece);
  std::uint64_t damaged_chunks() const noexcept { return damaged_chunks_; }

 private:
  void add(std::size_t index, std::vector<Row>& rows) const;
  void add_duration(std::size_t index, Piece& piece) const;
  void add_mapping(std::size_t index, Row row, std::vector<Row>& rows) const;

  std::unique_ptr<order::ChunkDecoder> decoder_;
  trace::EventBatch batch_;
  std::uint32_t slice_events_;
  With with_;
  std::uint64_t damaged_chunks_ = 0;
};

}  // namespace heapwright::replay
