// SPDX-License-Identifier: MIT
// Writes a plan's file in one pass, whatever its size: each lane has a part of the file large enough for its
// maximum number of operations, and a small buffer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replay/plan.hpp"

namespace heapwright::replay {

// Throws trace::TraceError, with one line that says what to do, when the file cannot be written.
class PlanWriter {
 public:
  struct LaneBound {
    std::uint32_t thread = 0;
    std::uint64_t operations = 0;  // upper bound
  };

  // Replaces an existing file; mode 0600. has_times: store a time for each operation.
  PlanWriter(const std::string& path, std::span<const LaneBound> lanes, std::span<const Mark> marks,
             bool has_times = false);
  ~PlanWriter();
  PlanWriter(const PlanWriter&) = delete;
  PlanWriter& operator=(const PlanWriter&) = delete;

  // When the next operations are due.
  void set_due(std::uint64_t due_ns) noexcept { due_ns_ = due_ns; }
  // Adds the lane's next operation, which is also the next of all lanes, and its call stack.
  void add(std::uint32_t lane, const Operation& operation, std::uint32_t stack = 0);
  // The number that the lane's next operation will have.
  std::uint64_t next_of(std::uint32_t lane) const noexcept { return lanes_[lane].count; }
  // Changes an operation that was added: apply(Operation&).
  template <typename Apply>
  void change(std::uint32_t lane, std::uint64_t operation, Apply apply) {
    const auto written = lanes_[lane].count - buffers_[lane].size();
    if (operation >= written) return apply(buffers_[lane][operation - written]);
    Operation changed = read_back(lane, operation);
    apply(changed);
    write_back(lane, operation, changed);
  }
  void set_touch(std::uint32_t lane, std::uint64_t operation, std::uint8_t touch) {
    change(lane, operation, [touch](Operation& made) { made.touch = touch; });
  }
  void set_recorded(std::size_t mark, std::uint64_t bytes) { marks_[mark].recorded_bytes = bytes; }
  void set_mapped(std::size_t mark, std::uint64_t bytes) { marks_[mark].mapped_bytes = bytes; }
  void end_lane(std::uint32_t lane) { lanes_[lane].ends = 1; }
  // Writes the header, with the counts of what was added. Must be the last call.
  Header finish(Header header);

 private:
  Operation read_back(std::uint32_t lane, std::uint64_t operation) const;
  void write_back(std::uint32_t lane, std::uint64_t operation, const Operation& changed);
  void flush(std::uint32_t lane);
  // The buffered entries (as many as the lane's last operations) follow those in the file.
  template <typename Entry>
  void flush(std::vector<Entry>& buffer, std::uint64_t offset, std::uint64_t operations);
  void end_turn();
  void write_at(std::uint64_t offset, const void* data, std::size_t bytes);

  std::string path_;
  int descriptor_ = -1;
  std::vector<Lane> lanes_;
  std::vector<std::uint64_t> limits_;  // of operations, by lane
  std::vector<std::vector<Operation>> buffers_;
  std::vector<std::vector<std::uint32_t>> stack_buffers_;
  std::vector<std::vector<std::uint64_t>> time_buffers_;  // if there are times
  bool has_times_;
  std::uint64_t due_ns_ = 0;
  std::uint64_t last_due_ns_ = 0;
  std::uint32_t largest_stack_ = 0;
  std::vector<Mark> marks_;
  std::vector<Turn> turns_;  // not yet written
  Turn turn_;
  std::uint64_t turns_offset_ = 0;
  std::uint64_t turns_written_ = 0;
  std::size_t buffer_operations_ = 0;
};

}  // namespace heapwright::replay
