// SPDX-License-Identifier: MIT
// Hardened mode: finds the block of a pointer, from its sealed record or its line.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/slabs/fill.hpp"
#include "heap/slabs/sealed_record.hpp"
#include "heap/slabs/slab_line.hpp"
#include "heap/threads/heap_object.hpp"

namespace heapwright::heap {

// The block found for a pointer.
struct Found {
  UnitLine* line;
  char* begin;
  std::size_t room;     // bytes up to the record, or to the end of a block with its own pages
  std::uint64_t value;  // from the record or the line: requested size and alignment, maybe freed_bit
  bool is_of_slab() const noexcept { return line->kind == UnitKind::slab; }
  SealedRecord record() const noexcept { return {begin, room + record_bytes}; }
  std::size_t bytes() const noexcept { return bytes_in(value); }
  bool is_freed() const noexcept { return (value & freed_bit) != 0; }
  bool is_intact() const noexcept { return record().is_intact(value); }
};

// For a block with its own pages: the requested size is in its line.
Found find_large(UnitLine* line) noexcept;

// The private heap that owns the block, or null.
[[gnu::always_inline]] inline heapwright_heap* private_heap_of(const UnitLine* line) noexcept {
  const ThreadCache* owner = line->owner.load(std::memory_order_relaxed);
  if (owner == checked_cache) return nullptr;
  return owner != nullptr && owner->is_private ? heap_of(line) : nullptr;
}

// Also checks the record before the block, which a write at a negative index hits first.
[[gnu::always_inline]] inline bool is_front_whole(const Found& block) noexcept {
  const std::size_t usable = block.room + record_bytes;
  if (!block.is_of_slab() || block.begin == begin_of_slab(block.line)) return true;
  return SealedRecord(block.begin - usable, usable).is_plausible();
}

// The live block that begins at `pointer`. Stops the process if there is none, or it is
// damaged; the message says that `function` found it.
Found require_live(const char* function, const void* pointer) noexcept;

// The fast form for an intact live block of a slab, not of a private heap. False: `pointer` is anything
// else, or null.
[[gnu::always_inline]] inline bool find_whole(const void* pointer, Found* found) noexcept {
  if (!is_used_offset(reinterpret_cast<std::uintptr_t>(pointer) - region.base)) return false;
  UnitLine* line = line_of_block(pointer);
  if (line->kind != UnitKind::slab) return false;
  const SizeClass& described = class_of_slab(line);
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - begin_of_slab(line));
  const std::uint32_t index = block_index(described, offset);
  if (index * std::size_t{described.block_bytes} != offset || index >= line->fresh) return false;
  *found = {line, begin_of_slab(line) + offset, described.block_bytes - record_bytes, 0};
  const std::uint64_t raw = found->record().raw();
  found->value = found->record().value_of(raw);
  return raw != 0 && !found->is_freed() && found->is_intact() &&
         is_slack_whole(found->begin, found->bytes(), found->room) && is_front_whole(*found) &&
         private_heap_of(line) == nullptr;
}

[[gnu::always_inline]] inline Found find_live(const char* function, const void* pointer) noexcept {
  Found found;
  return find_whole(pointer, &found) ? found : require_live(function, pointer);
}

}  // namespace heapwright::heap
