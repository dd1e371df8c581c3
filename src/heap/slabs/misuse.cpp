// SPDX-License-Identifier: MIT
#include "heap/slabs/misuse.hpp"

#include <algorithm>

#include "heap/base/counting.hpp"
#include "heap/base/messages.hpp"
#include "heap/pages/free_runs.hpp"

namespace heapwright::heap {

namespace {

std::size_t offset_in(const UnitLine* slab, const void* pointer) noexcept {
  return static_cast<std::size_t>(static_cast<const char*>(pointer) - begin_of_slab(slab));
}

// For the owner, which knows how many blocks were ever carved.
class CarvedBlocks {
 public:
  explicit CarvedBlocks(const UnitLine* slab) noexcept
      : begin_(reinterpret_cast<std::uintptr_t>(begin_of_slab(slab))),
        described_(class_of_slab(slab)),
        fresh_(slab->fresh) {}
  bool has(const Block* block) const noexcept {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(block) - begin_;
    // Valid for any offset: if the index is below `fresh`, the product is in the slab.
    const std::uint32_t index = block_index(described_, offset);
    return index < fresh_ && index * std::size_t{described_.block_bytes} == offset;
  }

 private:
  std::uintptr_t begin_;
  const SizeClass& described_;
  std::uint32_t fresh_;
};

bool is_carved_block(const UnitLine* slab, const Block* block) noexcept {
  return CarvedBlocks(slab).has(block);
}

[[noreturn, gnu::cold]] void stop_for_link(const UnitLine* slab, const Block* block,
                                           const Block* next) noexcept {
  const std::uint32_t bytes = class_of_slab(slab).block_bytes;
  const Block* handed_out = Block::ended_by(next);
  if (is_carved_block(slab, handed_out)) stop_for_double_free(handed_out, bytes);
  if (next != nullptr && offset_in(slab, next) < slab->units * unit_bytes) stop_for_pointer("free", next);
  Line line;
  if (block != nullptr) {
    stop(
        line.text("write after free to the block ").address(block).text(" of ").number(bytes).text(" bytes"));
  }
  // It is no longer known which block held the link.
  line.text("write after free to a block of ").number(bytes).text(" bytes in ");
  stop(line.address(begin_of_slab(slab)));
}

// The list has a cycle, which begins at the block that was freed twice.
[[noreturn, gnu::cold]] void stop_for_circle(const UnitLine* slab, const Block* first) noexcept {
  std::uint64_t marks[slab_map_words] = {};
  Chain list{const_cast<Block*>(first), capacity_of_slab(slab) + 1};
  mark_some(slab, &list, list.count, marks);
  stop_for_double_free(first, class_of_slab(slab).block_bytes);
}

}  // namespace

UnitLine* line_around(const void* pointer) noexcept {
  UnitLine* line = head_line_of(pointer);
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(pointer) - region.base;
  if (line != nullptr || offset >= region.used_bytes.load(std::memory_order_relaxed)) return line;
  for (line = line_at(pointer); unit_of(line) > first_unit() && line->kind == UnitKind::inside; --line) {
  }
  return line->kind == UnitKind::large && line_at(pointer) < line + line->units ? line : nullptr;
}

void stop_for_pointer(const char* function, const void* pointer) noexcept {
  const UnitLine* line = line_around(pointer);
  if (line == nullptr || line->kind == UnitKind::mixed) stop_for_invalid_pointer(function, pointer);
  std::size_t bytes = line->large_bytes;
  std::size_t begin = 0;
  if (line->kind == UnitKind::slab) {
    const std::uint32_t index = block_index(line->size_class, offset_in(line, pointer));
    bytes = class_of_slab(line).block_bytes;
    begin = index * bytes;
    if (index >= capacity_of_slab(line)) stop_for_invalid_pointer(function, pointer);
  }
  const char* block = begin_of_slab(line) + begin;
  const bool is_freed = line->kind == UnitKind::large && (line->flags & is_forbidden_large) != 0;
  if (block == pointer && is_freed) stop_for_freed(function, block, bytes);
  if (block == pointer) stop_for_invalid_pointer(function, pointer);
  stop_for_pointer_inside(function, pointer, block, bytes);
}

void stop_for_link_in(const char* function, const UnitLine* slab, const Block* block) noexcept {
  stop_for_freed(function, block, class_of_slab(slab).block_bytes);
}

// Each checked block may be a cache miss in a call with bounded time; the slowest of
// 10,000 calls are those that check here.
void check_list(const UnitLine* slab, Chain list, std::uint32_t most) noexcept {
  if (list.count > slab->carved) [[unlikely]] {
    stop_for_circle(slab, list.first);
  }
  const std::uint32_t checked = std::min(most, list.count);
  const CarvedBlocks carved(slab);
  const Block* block = list.first;
  const Block* last = block;
  const Block* before_last = block;
  for (std::uint32_t i = 0; i < checked; ++i) {
    count_steps();
    if (!carved.has(block)) [[unlikely]] {
      stop_for_link(slab, i == 0 ? nullptr : last, block);
    }
    const Block* const next = block->next();
    static_assert(most_checked <= 3);
    if (next == block || next == last || next == before_last) [[unlikely]] {
      stop_for_circle(slab, list.first);
    }
    before_last = last;
    last = block;
    block = next;
  }
  if (checked != 0 && (block == nullptr) != (checked == list.count)) [[unlikely]] {
    stop_for_link(slab, last, block);
  }
}

void require_listed(const UnitLine* slab, const Block* block) noexcept {
  if (!is_carved_block(slab, block)) [[unlikely]] {
    stop_for_link(slab, nullptr, block);
  }
}

void check_last_free(const UnitLine* slab) noexcept {
  const Block* freed = slab->free_list;
  if (freed == nullptr) return;
  if (!is_carved_block(slab, freed)) [[unlikely]] {
    stop_for_link(slab, nullptr, freed);
  }
  const RemoteWord remote = remote_of(slab);
  if (unlisted_count(slab) <= slab->carved && remote.count() <= unlisted_count(slab)) [[likely]] {
    return;
  }
  std::uint64_t marks[slab_map_words] = {};
  if (remote.has_blocks()) {
    auto* first = reinterpret_cast<Block*>(begin_of_slab(slab) + remote.head_offset());
    Chain list{first, remote.count()};
    mark_some(slab, &list, list.count, marks);
  }
  Chain list{slab->free_list, slab->carved + 1U};
  mark_some(slab, &list, list.count, marks);
  stop_for_double_free(freed, class_of_slab(slab).block_bytes);
}

void stop_for_lost_blocks(const UnitLine* slab) noexcept {
  Line line;
  line.text("free blocks of ").number(class_of_slab(slab).block_bytes).text(" bytes in ");
  stop(line.address(begin_of_slab(slab)).text(" were lost by a write after free or a double free"));
}

void mark_some(const UnitLine* slab, Chain* list, std::uint32_t most, std::uint64_t* marks) noexcept {
  const Block* last = nullptr;
  for (std::uint32_t left = std::min(most, list->count); left != 0; --left, --list->count) {
    count_steps();
    const Block* block = list->first;
    if (!is_carved_block(slab, block)) [[unlikely]] {
      stop_for_link(slab, last, block);
    }
    const std::uint32_t index = block_index(slab->size_class, offset_in(slab, block));
    if ((marks[index / 64] >> index % 64 & 1) != 0) [[unlikely]] {
      stop_for_double_free(block, class_of_slab(slab).block_bytes);
    }
    marks[index / 64] |= std::uint64_t{1} << index % 64;
    last = block;
    list->first = block->next();
  }
}

}  // namespace heapwright::heap
