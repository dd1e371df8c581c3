// SPDX-License-Identifier: MIT
#include "heap/front/hardened.hpp"

#include <errno.h>

#include <algorithm>
#include <cstring>

#include "heap/base/checked_size.hpp"
#include "heap/base/messages.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/pages/empty_blocks.hpp"
#include "heap/pages/large.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/slabs/sealed_record.hpp"
#include "heap/threads/heap_object.hpp"
#include "heap/threads/quarantine.hpp"
#include "heap/threads/refill.hpp"

namespace heapwright::heap {

namespace {

constexpr unsigned char slack_fill = 0xF5;
// One small block in so many, on average, lies between pages that cannot be reached.
constexpr std::uint32_t blocks_per_sample = 5000;

// What a pointer turned out to be.
struct Found {
  UnitLine* line;
  char* begin;
  std::size_t room;     // bytes up to the record, or up to the end of a block of its own pages
  std::uint64_t value;  // of the record: the size that was asked for, perhaps freed_bit
  bool is_of_slab() const noexcept { return line->kind == UnitKind::slab; }
  SealedRecord record() const noexcept { return {begin, room + record_bytes}; }
  std::size_t bytes() const noexcept { return value & ~freed_bit; }
  bool is_freed() const noexcept { return (value & freed_bit) != 0; }
  bool is_intact() const noexcept { return bytes() <= room; }
};

Line& name_block(Line& line, const Found& block) noexcept {
  line.address(block.begin);
  if (block.is_intact()) line.text(" of ").number(block.bytes()).text(" bytes");
  return line;
}

std::size_t rounded(std::size_t bytes) noexcept { return checked_round_up(bytes, 16); }

// Of a block that has pages of its own: the size is in its line.
Found find_large(UnitLine* line) noexcept {
  Found found{line, memory_of(unit_of(line)), line->large_bytes,
              line->remote.load(std::memory_order_relaxed)};
  if ((line->flags & is_at_end_large) == 0) return found;
  found.begin += found.room - rounded(found.bytes());
  found.room = rounded(found.bytes());
  return found;
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
  Line message;
  message.text(function).text(" of ").address(pointer).text(", ");
  message.number(static_cast<std::size_t>(static_cast<const char*>(pointer) - found.begin));
  stop(name_block(message.text(" bytes inside the block "), found));
}

bool is_slack_whole(const Found& block) noexcept {
  return is_filled(block.begin + block.bytes(), block.room - block.bytes(), slack_fill);
}

// The record before the block, too, is what a write at a negative index meets first.
bool is_front_whole(const Found& block) noexcept {
  const std::size_t usable = block.room + record_bytes;
  if (!block.is_of_slab() || block.begin == begin_of_slab(block.line)) return true;
  return SealedRecord(block.begin - usable, usable).is_plausible();
}

// The private heap that the block is of, or null.
heapwright_heap* private_heap_of(const UnitLine* line) noexcept {
  const ThreadCache* owner = line->owner.load(std::memory_order_relaxed);
  if (owner == checked_cache) return nullptr;
  return owner != nullptr && owner->is_private ? heap_of(line) : nullptr;
}

// The block of a slab is as it was when it was handed out. Nothing is said yet.
bool is_live(const Found& block, const heapwright_heap* heap) noexcept {
  if (heap != nullptr && heap->cursor != 0) return false;
  return block.record().raw() != 0 && block.is_intact() && is_slack_whole(block) && is_front_whole(block);
}

// The first thing that is wrong is said, in this order.
[[gnu::noinline, gnu::cold]] Found require_live(const char* function, const void* pointer) noexcept {
  const Found block = find(function, pointer);
  const heapwright_heap* heap = private_heap_of(block.line);
  if (heap != nullptr && heap->cursor != 0) {
    Line line;
    line.text(function).text(" of ").address(block.begin).text(", a block");
    if (block.is_intact()) line.text(" of ").number(block.bytes()).text(" bytes");
    stop(line.text(" of a heap that was destroyed"));
  }
  if (block.is_of_slab() && block.record().raw() == 0) stop_for_invalid_pointer(function, pointer);
  if (block.is_intact() && block.is_freed()) stop_for_double_free(block.begin, block.bytes());
  if (!block.is_intact() || !is_slack_whole(block)) {
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

Found find_live(const char* function, const void* pointer) noexcept {
  UnitLine* line = head_line_of(pointer);
  if (line == nullptr || line->kind != UnitKind::slab) return require_live(function, pointer);
  const Found block = find_in_slab(function, line, pointer);
  if (block.begin == pointer && !block.is_freed() && is_live(block, private_heap_of(line))) [[likely]] {
    return block;
  }
  return require_live(function, pointer);
}

// Of two threads that free the block at once, one learns that it is free.
void mark_freed(const Found& block) noexcept {
  const std::uint64_t freed = block.value | freed_bit;
  if (block.is_of_slab()) {
    if (!block.record().change(block.value, freed)) stop_for_double_free(block.begin, block.bytes());
    std::memset(block.begin, 0, block.room);
    return;
  }
  std::uint64_t expected = block.value;
  if (!block.line->remote.compare_exchange_strong(expected, freed, std::memory_order_acq_rel)) {
    stop_for_double_free(block.begin, block.bytes());
  }
  withdraw_large(block.line);
}

void release_found(const Found& block) noexcept {
  mark_freed(block);
  heapwright_heap* heap = private_heap_of(block.line);
  if (heap != nullptr) return quarantine_in(heap, block.line, block.begin);
  put_in_quarantine(cache_of_thread(), block.line, block.begin);
}

[[noreturn, gnu::cold]] void stop_for_write(char* begin, const SealedRecord& record) noexcept {
  Line line;
  line.text("write after free to the block ").address(begin);
  if (record.is_freed()) line.text(" of ").number(record.value() & ~freed_bit).text(" bytes");
  stop(line);
}

// Of a slab; it holds zeros, except for a link in front.
void* hand_out(void* memory, std::size_t bytes) noexcept {
  auto* begin = static_cast<char*>(memory);
  const std::size_t usable = class_of_slab(head_line_of(begin)).block_bytes;
  const std::size_t room = usable - record_bytes;
  SealedRecord record(begin, usable);
  std::memset(begin, 0, sizeof(Block));
  if (!is_filled(begin, room, 0) || (record.raw() != 0 && !record.is_freed())) [[unlikely]] {
    stop_for_write(begin, record);
  }
  record.write(bytes);
  std::memset(begin + bytes, slack_fill, room - bytes);
  return begin;
}

void* no_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}

// With pages of its own, between some that cannot be reached; a short one at their end. Null: no memory.
void* allocate_apart(std::size_t bytes, std::size_t alignment, ThreadCache* owner) noexcept {
  const LargeBlock block = allocate_guarded(std::max<std::size_t>(bytes, 1), alignment, owner);
  if (block.memory == nullptr) return nullptr;
  UnitLine* line = line_at(block.memory);
  line->remote.store(bytes, std::memory_order_relaxed);
  if (bytes <= small_limit_bytes && alignment <= 16) {
    line->flags = static_cast<std::uint8_t>(line->flags | is_at_end_large);
  }
  const Found made = find_large(line);
  std::memset(made.begin + bytes, slack_fill, made.room - bytes);
  return made.begin;
}

// Whether the next small block of the thread is to be one of those.
bool is_sampled(Quarantine* quarantine) noexcept {
  if (quarantine == nullptr || quarantine->until_sample-- > 1) return false;
  quarantine->random = quarantine->random * 6364136223846793005U + 1442695040888963407U;
  quarantine->until_sample =
      1 + static_cast<std::uint32_t>(quarantine->random >> 33) % (2 * blocks_per_sample);
  return true;
}

}  // namespace

namespace {

// From the list that the thread takes blocks of this size from. Null: not that easily.
void* allocate_listed(std::size_t bytes, std::size_t alignment) noexcept {
  Quarantine* quarantine = checked_cache->quarantine;
  if (bytes - 1 >= small_limit_bytes - record_bytes || alignment > 16 || quarantine == nullptr) {
    return nullptr;
  }
  BlockList* list = current_list(checked_cache, step_of(bytes + record_bytes));
  Block* block = list->free_list;
  if (quarantine->until_sample <= 1 || !is_among_blocks(block)) return nullptr;
  --quarantine->until_sample;
  return hand_out(pop(list, block), bytes);
}

}  // namespace

void* hardened_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (void* block = allocate_listed(bytes, alignment)) return block;
  if (is_too_big(bytes)) return no_memory();
  ThreadCache* cache = cache_of_thread();
  if (cache == nullptr) return hardened_allocate_in(late_heap(), bytes, alignment);
  if (bytes == 0 && alignment <= 16) {
    if (void* empty = take_empty(cache)) return empty;
  }
  const std::size_t needed =
      aligned_bytes(checked_sum(bytes, record_bytes), std::max<std::size_t>(alignment, 16));
  const bool is_short = bytes <= small_limit_bytes && alignment <= 16;
  void* block = nullptr;
  if (needed == 0 || (is_short && is_sampled(quarantine_of(cache)))) {
    block = allocate_apart(bytes, alignment, nullptr);
  } else if (void* memory = take_block(cache, class_of(needed))) {
    block = hand_out(memory, bytes);
  }
  if (block != nullptr) return block;
  return let_go_for(nullptr, bytes) ? hardened_allocate(bytes, alignment) : no_memory();
}

void* hardened_allocate_in(heapwright_heap* heap, std::size_t bytes, std::size_t alignment) noexcept {
  if (heap == nullptr || is_too_big(bytes)) return no_memory();
  alignment = std::max<std::size_t>(alignment, 16);
  const std::size_t whole_bytes = checked_sum(bytes, record_bytes);
  void* block = nullptr;
  if (aligned_bytes(whole_bytes, alignment) == 0) {
    block = allocate_apart(bytes, alignment, &heap->cache);
  } else if (void* memory = allocate_in(heap, whole_bytes, alignment)) {
    block = hand_out(memory, bytes);
  }
  if (block != nullptr) return block;
  return let_go_for(heap, bytes) ? hardened_allocate_in(heap, bytes, alignment) : no_memory();
}

void hardened_release(void* block) noexcept {
  if (is_empty_block(block)) return free_empty_block(block);
  release_found(find_live("free", block));
}

void hardened_release_sized(void* block, std::size_t bytes) noexcept {
  const std::size_t allocated = is_empty_block(block) ? 0 : find_live("free", block).bytes();
  if (allocated != bytes) {
    Line line;
    line.text("sized free of ").address(block).text(" with ").number(bytes);
    stop(line.text(" bytes, a block of ").number(allocated).text(" bytes"));
  }
  hardened_release(block);
}

void* hardened_reallocate(void* block, std::size_t bytes) noexcept {
  const bool was_empty = is_empty_block(block);
  const Found old = was_empty ? Found{} : find_live("realloc", block);
  void* moved = hardened_allocate(bytes, 16);
  if (moved == nullptr) return nullptr;
  if (was_empty) {
    free_empty_block(block);
  } else {
    std::memcpy(moved, block, std::min(bytes, old.bytes()));
    release_found(old);
  }
  return moved;
}

std::size_t hardened_usable_bytes(void* block) noexcept {
  return is_empty_block(block) ? 0 : find_live("malloc_usable_size", block).bytes();
}

}  // namespace heapwright::heap
