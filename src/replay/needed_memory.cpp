// SPDX-License-Identifier: MIT
#include "replay/needed_memory.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "replay/heap_calls.hpp"

namespace heapwright::replay {
namespace {

constexpr std::size_t window = 256;  // entries read at once

class TouchedBytes {
 public:
  TouchedBytes(std::size_t slots, std::size_t marks) : of_slot_(slots), found_{0, {}} {
    found_.mark_bytes.resize(marks);
  }

  void follow(const Operation& operation) {
    if (operation.kind == take_mark && operation.slot < found_.mark_bytes.size()) {
      found_.mark_bytes[operation.slot] = live_;
    }
    if (!(operation.makes() || ends(operation)) || operation.slot >= of_slot_.size()) return;
    std::uint64_t& bytes = of_slot_[operation.slot];
    live_ -= bytes;
    bytes = operation.makes() ? touched_bytes(operation) : 0;
    live_ += bytes;
    found_.peak_bytes = std::max(found_.peak_bytes, live_);
  }
  const NeededMemory& found() const noexcept { return found_; }

 private:
  static bool ends(const Operation& operation) {
    return trace::is_release(operation.event_kind()) || operation.serving() == serve_release ||
           operation.serving() == serve_last || operation.kind == serve_drop;
  }

  std::vector<std::uint64_t> of_slot_;
  std::uint64_t live_ = 0;
  NeededMemory found_;
};

struct LaneReading {
  std::array<Operation, window> entries;
  Stretch<Operation> operations;
};

}  // namespace

NeededMemory needed_memory(const PlanFile& plan) {
  const Header& header = plan.header();
  std::vector<LaneReading> lanes(header.lanes);
  for (std::uint32_t number = 0; number < header.lanes; ++number) {
    const Lane& lane = plan.lanes()[number];
    lanes[number].operations.open(plan, lane.offset, lane.count, lanes[number].entries.data(), window);
  }
  std::array<Turn, window> entries;
  Stretch<Turn> turns;
  turns.open(plan, header.turns_offset, header.turns, entries.data(), window);
  TouchedBytes bytes(header.slots, header.marks);
  while (!turns.is_at_end()) {
    const Turn turn = turns.next();
    if (turn.lane >= lanes.size()) break;
    Stretch<Operation>& operations = lanes[turn.lane].operations;
    for (std::uint32_t left = turn.count; left != 0 && !operations.is_at_end(); --left) {
      bytes.follow(operations.next());
    }
  }
  return bytes.found();
}

}  // namespace heapwright::replay
