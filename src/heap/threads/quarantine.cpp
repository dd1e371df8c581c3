// SPDX-License-Identifier: MIT
#include "heap/threads/quarantine.hpp"

#include <cstring>

#include "heap/base/counting.hpp"
#include "heap/base/messages.hpp"
#include "heap/base/random.hpp"
#include "heap/pages/large.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/slabs/sealed_record.hpp"
#include "heap/slabs/slab_line.hpp"
#include "heap/threads/remote_free.hpp"
#include "heap/threads/slab_events.hpp"

namespace heapwright::heap {

static_assert(sizeof(Quarantine) <= unit_bytes);

namespace {

bool is_of_slab(const UnitLine* line) noexcept { return line->kind == UnitKind::slab; }

[[noreturn, gnu::cold]] void stop_for_write(char* block, const SealedRecord& record) noexcept {
  Line line;
  line.text("write after free to the block ").address(block);
  if (record.is_intact(record.value())) line.text(" of ").number(bytes_in(record.value())).text(" bytes");
  stop(line);
}

// Checks the word that the link will overwrite, and the end. The bytes between are checked
// when the block is allocated, because its user touches them then.
[[gnu::always_inline]] inline void require_untouched(char* block, std::uint32_t usable) noexcept {
  const SealedRecord record(block, usable);
  std::uint64_t front = 0;
  std::memcpy(&front, block, sizeof front);
  if (front != 0 || !record.is_freed()) [[unlikely]] {
    stop_for_write(block, record);
  }
}

[[gnu::always_inline]] inline void let_go(ThreadCache* cache, UnitLine* line, char* block) noexcept {
  if (!is_of_slab(line)) return free_guarded(line);
  require_untouched(block, class_of_slab(line).block_bytes);
  if (cache != nullptr && line->owner.load(std::memory_order_relaxed) == cache) {
    return free_listed(cache, line, block);
  }
  free_remote(line, block);
}

// Adds `blocks` blocks of this line to the counts: 1, or -1 modulo 2^32.
[[gnu::always_inline]] inline void count_waiting(Quarantine& quarantine, const UnitLine* line,
                                                 std::uint32_t blocks) noexcept {
  const bool is_apart = !is_of_slab(line);
  quarantine.count = quarantine.count + blocks;
  quarantine.bytes =
      quarantine.bytes + blocks * (is_apart ? Quarantine::apart_weight : class_of_slab(line).block_bytes);
  if (is_apart) [[unlikely]] {
    quarantine.apart = quarantine.apart + blocks;
  }
}

[[gnu::always_inline]] inline void let_oldest_go(ThreadCache* cache, Quarantine& quarantine) noexcept {
  char* block = quarantine.blocks[quarantine.first];
  quarantine.first = (quarantine.first + 1) % Quarantine::capacity;
  UnitLine* line = line_of_block(block);
  count_waiting(quarantine, line, static_cast<std::uint32_t>(-1));
  let_go(cache, line, block);
}

// Bounded, so that a long block does not push out all the short ones at once.
[[gnu::noinline]] void let_more_go(ThreadCache* cache, Quarantine& quarantine) noexcept {
  for (int i = 0; i < 3 && quarantine.bytes > Quarantine::most_bytes; ++i) {
    count_steps();
    let_oldest_go(cache, quarantine);
  }
}

}  // namespace

Quarantine* make_quarantine(ThreadCache* cache) noexcept {
  const Run run = allocate_run(1);
  if (run.unit == 0) return nullptr;
  auto* made = reinterpret_cast<Quarantine*>(memory_of(run.unit));
  if (!run.is_zeroed) std::memset(static_cast<void*>(made), 0, sizeof(Quarantine));
  made->random = next_word();
  made->until_sample = 1 + static_cast<std::uint32_t>(made->random >> 32) % 1000;
  cache->quarantine = made;
  return made;
}

void put_in_quarantine(ThreadCache* cache, UnitLine* line, char* block) noexcept {
  Quarantine* quarantine = quarantine_of(cache);
  if (quarantine == nullptr) return let_go(cache, line, block);
  if (quarantine->count == Quarantine::capacity || quarantine->bytes > Quarantine::enough_bytes) {
    let_oldest_go(cache, *quarantine);
  }
  if (quarantine->bytes > Quarantine::most_bytes) [[unlikely]] {
    let_more_go(cache, *quarantine);
  }
  quarantine->blocks[(quarantine->first + quarantine->count) % Quarantine::capacity] = block;
  count_waiting(*quarantine, line, 1);
}

bool let_all_go(ThreadCache* cache) noexcept {
  Quarantine* quarantine = cache->quarantine;
  if (quarantine == nullptr || quarantine->count == 0) return false;
  while (quarantine->count != 0) let_oldest_go(cache, *quarantine);
  return true;
}

void empty_quarantine(ThreadCache* cache) noexcept {
  let_all_go(cache);
  Quarantine* quarantine = cache->quarantine;
  if (quarantine == nullptr) return;
  cache->quarantine = nullptr;
  free_run(unit_of(line_at(quarantine)), 1, true);
}

}  // namespace heapwright::heap
