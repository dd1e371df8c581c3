// SPDX-License-Identifier: MIT
// length: all changes mark the same blocks, and blocks pass between them
#include "replay/change_marker.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "trace/damage.hpp"

namespace heapwright::replay {
namespace {

void set_kind(Operation& operation, std::uint8_t kind) noexcept { operation.kind = kind & 0x7fU; }

constexpr std::uint64_t cached_alignment_log2 = 4;  // of the blocks of a buffer_cache

const char* why_nothing(Change change) noexcept {
  switch (change) {
    case Change::reserve:
      return "no block of these sites grows: there is nothing to reserve";
    case Change::small_vector:
      return "no block of these sites is that small, or none is allocated there";
    case Change::deferred_free:
      return "no block of these sites is freed, or none is made there";
    case Change::trim:
      return "the recording ends before the first call of malloc_trim, or has no reading of its memory";
    case Change::exit_policy:
      return "no block of these sites is freed after the last one that is made there";
    default:
      return "no block of these sites can be served so: none is made there, or other threads free or "
             "reallocate them all";
  }
}

// With several parts the message names the part.
[[noreturn]] void refuse_part(Change change, std::size_t parts) {
  const auto* const found = std::find_if(change_names.begin(), change_names.end(),
                                         [change](const ChangeName& name) { return name.change == change; });
  const std::string name = parts > 1 ? std::string(found->name) + ": " : "";
  throw trace::TraceError(name + why_nothing(change));
}

}  // namespace

ChangeMarker::Block& ChangeMarker::block_of(std::uint32_t slot) {
  if (slot >= blocks_.size()) blocks_.resize(std::max<std::size_t>(slot + 1, blocks_.size() * 2));
  return blocks_[slot];
}

ChangeMarker::Maker ChangeMarker::maker_of(std::uint32_t slot, const Maker& own) const noexcept {
  if (slot >= blocks_.size() || blocks_[slot].part == 0) return own;
  const Block& block = blocks_[slot];
  return change_of(block) == Change::reserve ? Maker{block.lane, block.operation} : own;
}

void ChangeMarker::serve(const Block& block, std::uint8_t serving, Operation& operation) const noexcept {
  set_kind(operation, static_cast<std::uint8_t>(serving + block.part - 1));
}

void ChangeMarker::make(std::uint32_t lane, std::uint32_t stack, std::uint64_t address,
                        Operation& operation) {
  growth_.pass(lane);
  waiting_.end_row(lane);
  Block& block = block_of(operation.slot);
  const bool is_moved = (operation.generation & 1U) != 0;
  const auto part = request_.part_of(stack);
  const bool has_heap = part != 0 && request_.parts[part - 1U].has_heap();
  if (is_moved && block.part != 0) {
    const bool leaves = part != block.part && request_.parts[block.part - 1U].has_heap();
    if (leaves && !has_heap) return leave_own_heap(block, operation);
    if (!leaves) {
      block.address = address;
      return move(lane, block, operation);
    }
  }
  if (part == 0) return;
  if (is_moved && !has_heap) {
    const Change change = request_.parts[part - 1U].change;
    if (change != Change::small_vector) ++counts_[part - 1U].foreign_moves;
    return;
  }
  block = {};
  block.operation = writer_.next_of(lane);
  block.largest = block.size = block.asked = operation.size;
  block.address = address;
  block.lane = lane;
  block.part = part;
  block.kind = static_cast<std::uint8_t>(operation.kind);
  begin(lane, block, operation);
}

void ChangeMarker::begin(std::uint32_t lane, Block& block, Operation& operation) {
  const ChangePart& part = request_.parts[block.part - 1U];
  if (part.has_server()) return begin_served(block, operation);
  if (part.change == Change::exit_policy) last_releases_[block.part - 1U].clear();
  if (part.is_about_releases()) return;
  if (part.change == Change::reserve) {  // counted when it grows
    return growth_.make(lane, {block.operation, 0, operation.slot, block.part});
  }
  if (operation.size > part.number) {
    block.part = 0;
    return;
  }
  ChangeCounts& counts = counts_of(block);
  ++counts.blocks;
  ++counts.events;
  counts.bytes += operation.size;
  set_kind(operation, serve_nothing);
}

void ChangeMarker::begin_served(Block& block, Operation& operation) {
  if (change_of(block) == Change::buffer_cache && operation.alignment_log2 > cached_alignment_log2) {
    block.part = 0;
    return;
  }
  ++counts_of(block).blocks;
  counts_of(block).bytes += operation.size;
  if (change_of(block) != Change::arena) return serve(block, serve_make, operation);
  Arena& arena = arena_of(block);
  ++arena.live;
  if (request_.has_phase(block.part - 1U)) arena.slots.push_back(operation.slot);
  serve(block, std::exchange(arena.is_left, false) ? serve_first : serve_make, operation);
}

void ChangeMarker::move(std::uint32_t lane, Block& block, Operation& operation) {
  block.is_shared = block.is_shared || lane != block.lane;
  block.size = operation.size;
  block.asked += operation.size;
  block.largest = std::max(block.largest, block.size);
  const Change change = change_of(block);
  if (change == Change::small_vector) {
    move_inside(block, operation);
  } else if (change == Change::reserve) {
    growth_.take(lane);
    ++counts_of(block).events;
    counts_of(block).blocks += block.is_moved ? 0 : 1;
    set_kind(operation, serve_nothing);
  } else if (request_.parts[block.part - 1U].has_server()) {
    move_served(lane, block, operation);
  }
  block.is_moved = true;
}

void ChangeMarker::move_served(std::uint32_t lane, Block& block, Operation& operation) {
  if (block.lane != lane && request_.parts[block.part - 1U].is_of_one_thread()) {
    ++counts_of(block).moved_by_others;
    block.asked -= operation.size;
    return leave_to_heap(operation.slot, block);
  }
  counts_of(block).bytes += operation.size;
  if (request_.parts[block.part - 1U].is_of_one_thread()) {
    moves_[operation.slot].push_back({writer_.next_of(lane), static_cast<std::uint8_t>(operation.kind)});
  }
  serve(block, serve_make, operation);
}

// The site of a realloc is not the part's: the block is the allocator's from here on.
void ChangeMarker::leave_own_heap(Block& block, Operation& operation) const {
  serve(block, serve_leave, operation);
  block = {};
}

// A block that outgrows the buffer is a heap block from here on.
void ChangeMarker::move_inside(Block& block, Operation& operation) {
  if (operation.size > request_.parts[block.part - 1U].number) {
    block.part = 0;
    return;
  }
  ++counts_of(block).events;
  set_kind(operation, serve_nothing);
}

void ChangeMarker::release(std::uint32_t lane, Operation& operation) {
  Block& block = block_of(operation.slot);
  const bool is_reserved = block.part != 0 && change_of(block) == Change::reserve;
  if (!is_reserved) growth_.pass(lane);
  if (block.part == 0) return;
  if (is_reserved) {
    release_reserved(lane, block, operation);
  } else if (change_of(block) == Change::exit_policy) {
    last_releases_[block.part - 1U].push_back({writer_.next_of(lane), operation.size, lane});
  } else if (request_.parts[block.part - 1U].has_server()) {
    release_served(lane, block, operation);
  } else {
    ++counts_of(block).events;
    set_kind(operation, serve_drop);
  }
  block = {};
}

void ChangeMarker::release_served(std::uint32_t lane, Block& block, Operation& operation) {
  const bool is_foreign = block.lane != lane && request_.parts[block.part - 1U].is_of_one_thread();
  if (is_foreign) ++counts_of(block).freed_by_others;
  if (change_of(block) == Change::arena) {
    release_in_arena(lane, block, operation);
  } else if (is_foreign) {
    return leave_to_heap(operation.slot, block);
  } else {
    serve(block, serve_release, operation);
  }
  moves_.erase(operation.slot);
}

void ChangeMarker::release_in_arena(std::uint32_t lane, const Block& block, Operation& operation) {
  serve(block, serve_release, operation);
  if (!leave_arena(block)) return;
  if (block.lane == lane) {
    serve(block, serve_last, operation);
  } else {
    arena_of(block).is_left = true;
  }
}

// Whether the block was the last live one in its arena.
bool ChangeMarker::leave_arena(const Block& block) {
  if (--arena_of(block).live != 0 || request_.has_phase(block.part - 1U)) return false;
  ++counts_of(block).events;
  return true;
}

// If a new block replaces the old one, it counts as having been there from the start.
void ChangeMarker::release_reserved(std::uint32_t lane, const Block& block, Operation& operation) {
  const auto made = growth_.take(lane);
  const bool is_of_part = made.part == block.part && made.slot != operation.slot;
  const Block* grown = is_of_part ? &blocks_[made.slot] : nullptr;
  const bool is_own = block.lane == lane && !block.is_shared;
  const bool replaces = grown != nullptr && is_own && grown->part == block.part &&
                        grown->operation == made.operation && grown->lane == lane && !grown->is_moved &&
                        GrowthByCopies::may_be_copied(block.size, made.other_calls);
  if (replaces && GrowthByCopies::is_larger(block.size, grown->size)) {
    ++replaced_[block.part - 1U].by_larger;
    take_over(block, operation.slot, made.slot);
    return set_kind(operation, serve_drop);
  }
  replaced_[block.part - 1U].by_others += replaces ? 1 : 0;
  settle(block);
  operation.size = block.largest & largest_size;
}

void ChangeMarker::take_over(const Block& old, std::uint32_t old_slot, std::uint32_t new_slot) {
  Block& grown = blocks_[new_slot];
  ++counts_of(old).events;
  counts_of(old).blocks += old.is_moved ? 0 : 1;
  std::uint64_t touch = touch_all;
  writer_.change(grown.lane, grown.operation, [&](Operation& made) {
    touch = made.touch;
    set_kind(made, serve_take);
    made.size = old_slot;
  });
  writer_.change(old.lane, old.operation, [&](Operation& first) { first.touch = touch & 255U; });
  touched_.set_maker(grown.address, old.lane, old.operation);
  grown.operation = old.operation;
  grown.largest = std::max(grown.largest, old.largest);
  grown.is_moved = true;
}

// As if it had never been served differently. An arena that would have been reset without it is not reset.
void ChangeMarker::leave_to_heap(std::uint32_t slot, Block& block) {
  --counts_of(block).blocks;
  counts_of(block).bytes -= block.asked;
  writer_.change(block.lane, block.operation, [&](Operation& made) { set_kind(made, block.kind); });
  if (const auto moves = moves_.extract(slot)) {
    for (const Move& move : moves.mapped()) {
      writer_.change(block.lane, move.operation, [&](Operation& made) { set_kind(made, move.kind); });
    }
  }
  if (change_of(block) == Change::arena && leave_arena(block)) arena_of(block).is_left = true;
  block.part = 0;
}

// Called when the block's final size is known.
void ChangeMarker::settle(const Block& block) {
  if (!block.is_moved) return;
  counts_of(block).bytes += block.largest;
  writer_.change(block.lane, block.operation,
                 [&](Operation& made) { made.size = block.largest & largest_size; });
}

bool ChangeMarker::is_deferred(std::uint32_t slot) const noexcept {
  const auto part = slot < blocks_.size() ? blocks_[slot].part : 0U;
  return part != 0 && request_.parts[part - 1U].change == Change::deferred_free;
}

std::size_t ChangeMarker::defer_free(std::uint32_t lane, std::uint64_t now_ns, const Operation& operation,
                                     std::uint32_t stack) {
  Block& block = block_of(operation.slot);
  growth_.pass(lane);
  const auto part = block.part - 1U;
  ChangeCounts& counts = counts_[part];
  ++counts.blocks;
  counts.bytes += operation.size;
  counts.events += waiting_.put(lane, now_ns, {operation, stack, part}) ? 1 : 0;
  waiting_bytes_[part] += operation.size;
  counts.most_waiting_bytes = std::max(counts.most_waiting_bytes, waiting_bytes_[part]);
  block = {};
  return part;
}

void ChangeMarker::freed(const WaitingFree& free, bool by_caller) noexcept {
  waiting_bytes_[free.part] -= free.operation.size;
  counts_[free.part].freed_by_caller += by_caller ? 1 : 0;
}

Operation ChangeMarker::trim(std::size_t part) noexcept {
  ++counts_[part].events;
  Operation operation;
  set_kind(operation, static_cast<std::uint8_t>(trace::EventKind::malloc_trim_));
  return operation;
}

void ChangeMarker::end_phase(std::uint32_t lane, const std::string& name) {
  constexpr std::size_t most_names = 8;
  if (ended_phases_.size() < most_names) ended_phases_.insert(name);
  for (std::size_t part = 0; part < request_.phases.size(); ++part) {
    if (!name.empty() && request_.phases[part] == name) reset_arena(lane, part);
  }
}

void ChangeMarker::reset_arena(std::uint32_t lane, std::size_t part) {
  Arena& arena = arenas_[lane * request_.parts.size() + part];
  if (arena.slots.empty()) return;
  for (const auto slot : arena.slots) {
    Block& block = blocks_[slot];
    // The slot may have been reused by now.
    if (block.part != part + 1 || block.lane != lane) continue;
    ++counts_[part].outlived;
    leave_to_heap(slot, block);
  }
  arena.slots.clear();
  ++counts_[part].events;
  Operation reset;
  set_kind(reset, static_cast<std::uint8_t>(serve_reset + part));
  writer_.add(lane, reset);
}

// Those after which no block of the part was allocated.
void ChangeMarker::drop_last_releases(std::size_t part) {
  for (const LastRelease& last : last_releases_[part]) {
    writer_.change(last.lane, last.operation, [](Operation& made) { set_kind(made, serve_drop); });
    ++counts_[part].blocks;
    counts_[part].bytes += last.bytes;
  }
}

void ChangeMarker::check(std::size_t part) const {
  if (!replaced_[part].is_growth()) {
    throw trace::TraceError(
        "blocks of these sites are replaced by blocks of any size: they do not grow, so there is nothing to "
        "reserve");
  }
  if (request_.has_phase(part) && counts_[part].events == 0) {
    std::string known;
    for (const auto& name : ended_phases_) known += (known.empty() ? "" : ", ") + name;
    throw trace::TraceError(
        "no thread that makes blocks at these sites ends a phase " + request_.phases[part] +
        (known.empty() ? "; no phase ends in the recording" : "; phases that end there: " + known));
  }
  const auto& counts = counts_[part];
  const Change change = request_.parts[part].change;
  if ((change == Change::trim ? counts.events : counts.blocks) == 0) {
    refuse_part(change, request_.parts.size());
  }
}

void ChangeMarker::finish(Header& header) {
  for (const Block& block : blocks_) {
    if (block.part == 0) continue;
    if (change_of(block) == Change::reserve) {
      settle(block);
    } else {
      ++counts_of(block).never_freed;
    }
  }
  for (std::size_t part = 0; part < request_.parts.size(); ++part) {
    drop_last_releases(part);
    check(part);
    header.parts[part] = request_.parts[part];
  }
  header.part_count = request_.parts.size();
  header.changed = counts_;
}

}  // namespace heapwright::replay
