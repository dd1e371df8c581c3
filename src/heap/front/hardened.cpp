// SPDX-License-Identifier: MIT
#include "heap/front/hardened.hpp"

#include <errno.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstring>

#include "heap/base/checked_size.hpp"
#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/base/messages.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/pages/large.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/threads/heap_object.hpp"

namespace heapwright::heap {

namespace {

constexpr std::size_t record_bytes = 8;
constexpr std::uint64_t freed_bit = std::uint64_t{1} << 63;
constexpr unsigned char slack_fill = 0xF5;
constexpr unsigned char freed_fill = 0xDF;
constexpr std::size_t most_quarantined_bytes = std::size_t{16} << 20;
constexpr std::uint32_t most_quarantined = 4096;

struct Quarantine {
  Lock lock;
  char* blocks[most_quarantined];  // a ring
  std::uint32_t first;
  std::uint32_t count;
  std::size_t bytes;
};
constinit Quarantine quarantine{};

// What a pointer turned out to be.
struct Sealed {
  UnitLine* line;
  char* begin;
  std::size_t usable_bytes;  // with slack and record
  std::uint64_t record;
  std::size_t bytes() const noexcept { return record & ~freed_bit; }
  bool is_freed() const noexcept { return (record & freed_bit) != 0; }
  bool is_intact() const noexcept { return bytes() <= usable_bytes - record_bytes; }
};

std::uint64_t secret() noexcept {
  static std::uint64_t value = 0;
  if (value == 0) {
    const auto* random = reinterpret_cast<const void*>(getauxval(AT_RANDOM));
    if (random != nullptr) std::memcpy(&value, random, sizeof(value));
    value |= 1;
  }
  return value;
}

void seal(const Sealed& block, std::uint64_t record) noexcept {
  const std::uint64_t sealed = record ^ secret() ^ reinterpret_cast<std::uintptr_t>(block.begin);
  std::memcpy(block.begin + block.usable_bytes - record_bytes, &sealed, record_bytes);
}

std::uint64_t unseal(const char* begin, std::size_t usable) noexcept {
  std::uint64_t sealed = 0;
  std::memcpy(&sealed, begin + usable - record_bytes, record_bytes);
  return sealed ^ secret() ^ reinterpret_cast<std::uintptr_t>(begin);
}

Line& name_block(Line& line, const Sealed& block) noexcept {
  line.address(block.begin);
  if (block.is_intact()) line.text(" of ").number(block.bytes()).text(" bytes");
  return line;
}

// A large block in quarantine cannot be read.
bool is_out_of_reach(const UnitLine* line) noexcept {
  return line->kind == UnitKind::large && (line->flags & is_forbidden_large) != 0;
}

Sealed find(const char* function, void* pointer) noexcept {
  UnitLine* line = line_around(pointer);
  if (line == nullptr) stop_for_invalid_pointer(function, pointer);
  char* const run = memory_of(unit_of(line));
  const auto offset = static_cast<std::size_t>(static_cast<char*>(pointer) - run);
  Sealed found{line, run, line->large_bytes, 0};
  if (line->kind == UnitKind::slab) {
    const std::uint32_t index = block_index(line->size_class, offset);
    found.usable_bytes = class_of_slab(line).block_bytes;
    found.begin = run + index * found.usable_bytes;
    if (index >= line->fresh) stop_for_invalid_pointer(function, pointer);
  } else if (is_out_of_reach(line)) {
    found.record = freed_bit | line->stamp_bytes;
    stop_for_double_free(found.begin, found.bytes());
  }
  found.record = unseal(found.begin, found.usable_bytes);
  if (pointer != found.begin) {
    Line message;
    message.text(function).text(" of ").address(pointer).text(", ");
    message.number(static_cast<std::size_t>(static_cast<char*>(pointer) - found.begin));
    stop(name_block(message.text(" bytes inside the block "), found));
  }
  return found;
}

// Where bytes in [begin, begin + bytes) differ from `fill`.
bool is_filled(const char* begin, std::size_t bytes, unsigned char fill) noexcept {
  return std::all_of(begin, begin + bytes, [fill](char c) { return static_cast<unsigned char>(c) == fill; });
}

Sealed find_live(const char* function, void* pointer) noexcept {
  const Sealed block = find(function, pointer);
  const std::size_t room = block.usable_bytes - record_bytes;
  if (heap_of(block.line)->cursor != 0) {
    Line line;
    line.text(function).text(" of ").address(block.begin).text(", a block");
    if (block.is_intact()) line.text(" of ").number(block.bytes()).text(" bytes");
    stop(line.text(" of a heap that was destroyed"));
  }
  if (block.is_intact() && block.is_freed()) stop_for_double_free(block.begin, block.bytes());
  if (!block.is_intact() || !is_filled(block.begin + block.bytes(), room - block.bytes(), slack_fill)) {
    Line line;
    stop(name_block(line.text("overflow behind the block "), block).text(", found by ").text(function));
  }
  return block;
}

heapwright_heap* hardened_heap() noexcept {
  static std::atomic<heapwright_heap*> kept{nullptr};
  heapwright_heap* heap = kept.load(std::memory_order_acquire);
  if (heap != nullptr) return heap;
  heapwright_heap* made = create_heap("hardened");
  if (made == nullptr) return nullptr;
  if (kept.compare_exchange_strong(heap, made, std::memory_order_acq_rel)) return made;
  destroy_heap(made);
  return heap;
}

std::size_t quarantined_bytes(char* begin) noexcept {
  const UnitLine* line = head_line_of(begin);
  return line->kind == UnitKind::large ? line->large_bytes : class_of_slab(line).block_bytes;
}

// Under the lock, and the quarantine is not empty.
char* take_oldest() noexcept {
  char* block = quarantine.blocks[quarantine.first];
  quarantine.first = (quarantine.first + 1) % most_quarantined;
  --quarantine.count;
  quarantine.bytes -= quarantined_bytes(block);
  return block;
}

// Under the lock, and the quarantine is not full.
void add_newest(char* block) noexcept {
  quarantine.blocks[(quarantine.first + quarantine.count++) % most_quarantined] = block;
  quarantine.bytes += quarantined_bytes(block);
}

Sealed freed_block(UnitLine* slab, char* begin) noexcept {
  const std::size_t usable = class_of_slab(slab).block_bytes;
  return {slab, begin, usable, unseal(begin, usable)};
}

bool is_untouched(const Sealed& block) noexcept {
  return block.is_intact() && block.is_freed() &&
         is_filled(block.begin, block.usable_bytes - record_bytes, freed_fill);
}

// A block that has left the ring, under the lock still, so that its heap cannot
// be dismantled meanwhile. What is returned is to be finished without the lock.
char* let_go(char* begin) noexcept {
  UnitLine* line = head_line_of(begin);
  if (line->kind == UnitKind::large) {
    line->owner.store(nullptr, std::memory_order_relaxed);
    return begin;
  }
  if (!is_untouched(freed_block(line, begin))) return begin;
  free_quarantined(heap_of(line), line, begin);
  return nullptr;
}

void finish(char* begin) noexcept {
  if (begin == nullptr) return;
  UnitLine* line = head_line_of(begin);
  if (line->kind == UnitKind::slab) {
    Line message;
    stop(name_block(message.text("write after free to the block "), freed_block(line, begin)));
  }
  map_anew(begin, line->large_bytes);
  free_large(line);
}

// False: nothing had to leave.
bool let_surplus_go() noexcept {
  char* unfinished = nullptr;
  {
    const LockGuard locked(quarantine.lock, counters_page->heap.heap_lock);
    if (quarantine.count < most_quarantined && quarantine.bytes <= most_quarantined_bytes) return false;
    if (quarantine.count == 0) return false;
    unfinished = let_go(take_oldest());
  }
  finish(unfinished);
  return true;
}

// The oldest block goes if it is the heap's, else it becomes the newest.
void let_oldest_go_if_of(const heapwright_heap* heap) noexcept {
  char* unfinished = nullptr;
  {
    const LockGuard locked(quarantine.lock, counters_page->heap.heap_lock);
    if (quarantine.count == 0) return;
    char* block = take_oldest();
    if (heap_of(head_line_of(block)) != heap) return add_newest(block);
    unfinished = let_go(block);
  }
  finish(unfinished);
}

void put_in_quarantine(char* begin) noexcept {
  for (;;) {
    if (let_surplus_go()) continue;
    const LockGuard locked(quarantine.lock, counters_page->heap.heap_lock);
    if (quarantine.count == most_quarantined) continue;
    return add_newest(begin);
  }
}

void quarantine_block(const Sealed& block) noexcept {
  if (block.line->kind == UnitKind::large) {
    block.line->stamp_bytes = block.bytes();
    block.line->flags = is_forbidden_large;
    forbid(block.begin, block.usable_bytes);
  } else {
    std::memset(block.begin, freed_fill, block.usable_bytes - record_bytes);
    seal(block, block.bytes() | freed_bit);
    note_quarantined(heap_of(block.line), block.line);
  }
  put_in_quarantine(block.begin);
}

}  // namespace

void* hardened_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  return hardened_allocate_in(hardened_heap(), bytes, alignment);
}

void* hardened_allocate_in(heapwright_heap* heap, std::size_t bytes, std::size_t alignment) noexcept {
  char* memory = nullptr;
  const std::size_t whole_bytes = checked_sum(bytes, record_bytes);
  if (heap != nullptr && !is_too_big(whole_bytes)) {
    memory = static_cast<char*>(allocate_in(heap, whole_bytes, std::max<std::size_t>(alignment, 16)));
  }
  if (memory == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  UnitLine* line = head_line_of(memory);
  const bool is_large = line->kind == UnitKind::large;
  const Sealed block{line, memory, is_large ? line->large_bytes : class_of_slab(line).block_bytes, bytes};
  std::memset(memory + bytes, slack_fill, block.usable_bytes - record_bytes - bytes);
  seal(block, bytes);
  return memory;
}

void hardened_release(void* block) noexcept { quarantine_block(find_live("free", block)); }

void hardened_release_sized(void* block, std::size_t bytes) noexcept {
  const Sealed found = find_live("free", block);
  if (found.bytes() != bytes) {
    Line line;
    line.text("sized free of ").address(block).text(" with ").number(bytes);
    stop(line.text(" bytes, a block of ").number(found.bytes()).text(" bytes"));
  }
  quarantine_block(found);
}

void* hardened_reallocate(void* block, std::size_t bytes) noexcept {
  const Sealed old = find_live("realloc", block);
  void* moved = hardened_allocate(bytes, 16);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(bytes, old.bytes()));
  quarantine_block(old);
  return moved;
}

std::size_t hardened_usable_bytes(void* block) noexcept {
  return find_live("malloc_usable_size", block).bytes();
}

void empty_quarantine_of(heapwright_heap* heap) noexcept {
  for (std::uint32_t i = 0; i < most_quarantined; ++i) let_oldest_go_if_of(heap);
}

Lock& quarantine_lock() noexcept { return quarantine.lock; }

}  // namespace heapwright::heap
