// SPDX-License-Identifier: MIT
#include "heap/front/found_block.hpp"

#include "heap/base/checked_size.hpp"
#include "heap/base/messages.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/threads/heap_object.hpp"

namespace heapwright::heap {

Found find_large(UnitLine* line) noexcept {
  Found found{line, memory_of(unit_of(line)), line->large_bytes,
              line->remote.load(std::memory_order_relaxed)};
  if ((line->flags & is_at_end_large) == 0) return found;
  const std::size_t rounded = checked_round_up(found.bytes(), 16);
  found.begin += found.room - rounded;
  found.room = rounded;
  return found;
}

namespace {

Line& name_block(Line& line, const Found& block) noexcept {
  line.address(block.begin);
  if (block.is_intact()) line.text(" of ").number(block.bytes()).text(" bytes");
  return line;
}

Found find_in_slab(const char* function, UnitLine* slab, const void* pointer) noexcept {
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - begin_of_slab(slab));
  const std::uint32_t index = block_index(slab->size_class, offset);
  if (index >= slab->fresh) stop_for_invalid_pointer(function, pointer);
  const std::size_t usable = class_of_slab(slab).block_bytes;
  Found found{slab, begin_of_slab(slab) + index * usable, usable - record_bytes, 0};
  found.value = found.record().value();
  return found;
}

Found find(const char* function, const void* pointer) noexcept {
  UnitLine* line = line_around(pointer);
  if (line == nullptr) stop_for_invalid_pointer(function, pointer);
  const Found found = line->kind == UnitKind::slab ? find_in_slab(function, line, pointer) : find_large(line);
  if (pointer == found.begin) return found;
  if (pointer < found.begin) stop_for_invalid_pointer(function, pointer);
  const auto distance = static_cast<std::size_t>(static_cast<const char*>(pointer) - found.begin);
  const bool is_behind = found.is_intact() && distance >= found.bytes();
  Line message;
  message.text(function).text(" of ").address(pointer).text(", ");
  message.number(is_behind ? distance - found.bytes() : distance);
  stop(name_block(message.text(is_behind ? " bytes behind the block " : " bytes inside the block "), found));
}

// For any block, including those with their own pages.
bool is_behind_whole(const Found& block) noexcept {
  return is_filled(block.begin + block.bytes(), block.room - block.bytes(), slack_fill);
}

// For a record of zeros: true in a block that was never allocated, which has a link, and in one whose page
// was returned. In any other block, zeros were written behind its end.
bool is_in_nobodys_hands(const Found& block) noexcept {
  if (block.line->dropped != 0 && is_filled(block.begin, block.room, 0)) return true;
  const Block* next = reinterpret_cast<const Block*>(block.begin)->next();
  return next == nullptr || (is_among_blocks(next) && head_line_of(next) == block.line);
}

}  // namespace

// Reports the first error, in this order.
Found require_live(const char* function, const void* pointer) noexcept {
  const Found block = find(function, pointer);
  const heapwright_heap* heap = private_heap_of(block.line);
  if (heap != nullptr && heap->cursor != 0) {
    Line line;
    line.text(function).text(" of ").address(block.begin).text(", a block");
    if (block.is_intact()) line.text(" of ").number(block.bytes()).text(" bytes");
    stop(line.text(" of a heap that was destroyed"));
  }
  if (block.is_of_slab() && block.record().raw() == 0 && is_in_nobodys_hands(block)) {
    stop_for_invalid_pointer(function, pointer);
  }
  if (block.is_intact() && block.is_freed()) stop_for_freed(function, block.begin, block.bytes());
  if (!block.is_intact() || !is_behind_whole(block)) {
    Line line;
    stop(name_block(line.text("overflow behind the block "), block).text(", found by ").text(function));
  }
  if (!is_front_whole(block)) {
    Line line;
    stop(name_block(line.text("bytes were changed before the block "), block)
             .text(", found by ")
             .text(function));
  }
  return block;
}

}  // namespace heapwright::heap
