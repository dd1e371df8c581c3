// SPDX-License-Identifier: MIT
#include "replay/block_marks.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "figures/process_figures.hpp"
#include "figures/refusal.hpp"
#include "replay/heap_calls.hpp"

namespace heapwright::replay {
namespace {

using figures::page_bytes;

constexpr std::uint64_t begin_bytes = 512;
// Written into blocks of any type.
using Word [[gnu::may_alias]] = std::uint64_t;

// None of its bytes occurs in fresh memory or is written by touching.
std::uint64_t word_of(std::uint32_t slot) noexcept {
  return (std::uint64_t{slot} + 1) * 0x9e3779b97f4a7c15ULL | 0x8080808080808080ULL;
}

// Calls act(place, value) for each word of a block whose first `bytes` are marked, or for each byte if there
// is no room for a word. Blocks with room for a word are aligned for it.
template <typename Act>
void for_each_place(void* block, std::uint64_t bytes, std::uint64_t word, const Act& act) {
  auto* const begin = static_cast<unsigned char*>(block);
  if (bytes < sizeof(Word)) {
    for (std::uint64_t at = 0; at < bytes; ++at) act(begin + at, static_cast<unsigned char>(word >> 8 * at));
    return;
  }
  const auto in_begin = std::min(bytes, begin_bytes);
  for (std::uint64_t at = 0; at + sizeof(Word) <= in_begin; at += sizeof(Word)) {
    act(reinterpret_cast<Word*>(begin + at), word);
  }
  for (std::uint64_t at = page_bytes; at + sizeof(Word) <= bytes; at += page_bytes) {
    act(reinterpret_cast<Word*>(begin + at), word);
  }
}

// The alignment needed by any type of that size, or the one requested.
std::uint64_t promised_alignment(const Operation& operation) noexcept {
  const auto kind = operation.event_kind();
  if (kind == trace::EventKind::valloc_ || kind == trace::EventKind::pvalloc_) return page_bytes;
  const auto of_size = std::bit_floor(std::min<std::uint64_t>(operation.size, alignof(std::max_align_t)));
  return std::max<std::uint64_t>(of_size, std::uint64_t{1} << operation.alignment_log2);
}

void check_alignment(const Operation& operation, const Slot& slot) noexcept {
  const auto alignment = promised_alignment(operation);
  if (reinterpret_cast<std::uintptr_t>(slot.block) % alignment == 0) return;
  figures::give_up("a block of %zu bytes is not aligned to %zu", static_cast<std::size_t>(operation.size),
                   static_cast<std::size_t>(alignment));
}

// Runs after the touching, which has written one byte of each page: reading earlier would cause a page fault
// that the program did not have.
void check_zeroed(const Operation& operation, const Slot& slot, std::uint64_t bytes) noexcept {
  const auto* const block = static_cast<const unsigned char*>(slot.block);
  for (std::uint64_t at = 1; at < std::min(bytes, begin_bytes); ++at) {
    const bool is_touched = (reinterpret_cast<std::uintptr_t>(block) + at) % page_bytes == 0;
    if (block[at] == 0 || is_touched) continue;
    figures::give_up("calloc's block of %zu bytes is not zeroed", static_cast<std::size_t>(operation.size));
  }
}

}  // namespace

void BlockMarks::before(const Operation& operation, const Slot& slot) const noexcept {
  if (!trace::is_release(operation.event_kind())) return;  // a realloc keeps its block's content
  check(operation.slot, slot.block, marked_bytes_[operation.slot]);
}

void BlockMarks::after(const Operation& operation, const Slot& slot) noexcept {
  auto& marked_bytes = marked_bytes_[operation.slot];
  if (!trace::is_allocation(operation.event_kind())) {
    marked_bytes = 0;
    return;
  }
  check_alignment(operation, slot);
  const auto bytes = touched_bytes(operation);
  if (operation.moves()) {
    check(operation.slot, slot.block, std::min(marked_bytes, operation.size & largest_size));
  } else if (operation.event_kind() == trace::EventKind::calloc_) {
    check_zeroed(operation, slot, bytes);
  }
  for_each_place(slot.block, bytes, word_of(operation.slot), [](auto* place, auto value) { *place = value; });
  marked_bytes = bytes;
}

void BlockMarks::check(std::uint32_t slot, void* block, std::uint64_t bytes) const noexcept {
  for_each_place(block, bytes, word_of(slot), [](const auto* place, auto value) {
    if (*place == value) return;
    figures::give_up("a block changed while it lived: blocks overlap, or a call wrote to another one");
  });
}

}  // namespace heapwright::replay
