// SPDX-License-Identifier: MIT
// The trace as tables of columns, about ten thousand rows at a time, for SQL and Arrow: one row per call, and
// one row per block. Never holds the whole trace. Chunks that cannot be decoded are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "order/source.hpp"
#include "trace/reader.hpp"

namespace heapwright::analyze {

// Columns of equal length; meanings as in trace::EventBatch.
struct EventColumns {
  std::vector<std::uint32_t> thread;
  std::vector<std::uint64_t> sequence;  // number within the thread
  std::vector<std::uint8_t> kind;       // trace::EventKind
  std::vector<std::uint64_t> begin_ns;
  std::vector<std::uint32_t> duration_ns;
  std::vector<std::uint64_t> size;
  std::vector<std::uint64_t> usable;
  std::vector<std::uint64_t> alignment;  // bytes; 0 = none requested
  std::vector<std::uint64_t> address;
  std::vector<std::uint64_t> old_address;
  std::vector<std::uint32_t> stack;

  std::size_t count() const noexcept { return kind.size(); }
};

// Rows come chunk by chunk, chunks by their first begin: ordered by time within a thread, nearly so between
// threads. The reader must outlive the table.
class EventTable {
 public:
  explicit EventTable(const trace::Reader& reader);
  explicit EventTable(std::unique_ptr<order::Source> source);
  ~EventTable();
  EventTable(EventTable&&) noexcept;

  // Replaces `columns` with the next rows; false at the end.
  bool next(EventColumns& columns);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Columns of equal length. If is_freed is 0, the block was live at the end (or its release is missing), and
// end_ns and free_* are meaningless.
struct BlockColumns {
  std::vector<std::uint64_t> address;
  std::vector<std::uint64_t> size;
  std::vector<std::uint64_t> usable;
  std::vector<std::uint64_t> alignment;
  std::vector<std::uint8_t> kind;
  std::vector<std::uint32_t> thread;
  std::vector<std::uint32_t> stack;
  std::vector<std::uint64_t> begin_ns;  // the allocating call's begin
  std::vector<std::uint8_t> is_freed;
  std::vector<std::uint64_t> end_ns;  // the releasing call's begin
  std::vector<std::uint32_t> free_thread;
  std::vector<std::uint8_t> free_kind;
  std::vector<std::uint32_t> free_stack;
  std::vector<std::uint8_t> is_temporary;  // see Facts::temporaries

  std::size_t count() const noexcept { return address.size(); }
  void clear() noexcept;
};

// Blocks in the order of their end, then those still live. A realloc ends one block and begins another.
// Releases of unknown blocks have no row.
class BlockTable {
 public:
  explicit BlockTable(const trace::Reader& reader);
  explicit BlockTable(std::unique_ptr<order::Source> source);
  ~BlockTable();
  BlockTable(BlockTable&&) noexcept;

  bool next(BlockColumns& columns);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heapwright::analyze
