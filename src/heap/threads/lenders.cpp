// SPDX-License-Identifier: MIT
#include "heap/threads/lenders.hpp"

#include "heap/base/clock.hpp"
#include "heap/base/counting.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/borrowed_blocks.hpp"
#include "heap/threads/caches.hpp"

namespace heapwright::heap {

namespace {

constexpr int most_lenders = 8;
constexpr int most_slabs = 4;
// A thread that runs has a notice when an eighth of a slab is free, and uses it.
constexpr std::uint32_t least_share = 4;
// What a running thread borrows it frees more slowly, as any block of another thread: so not from one that
// merely waits for its turn on a processor.
constexpr std::int64_t asleep_ns = 125'000'000;

bool is_asleep(ThreadCache* cache, std::uint64_t now_ns) noexcept {
  // Its thread writes `visits` in every slow call, so a thread that has just run is not looked at again.
  constexpr std::int64_t look_again_ns = asleep_ns / 4;
  const std::uint64_t seen_ns = cache->seen_ns;
  const auto age_ns = static_cast<std::int64_t>(now_ns - seen_ns);  // negative: another thread was later
  if (seen_ns != 0 && age_ns < look_again_ns) return false;
  const std::uint32_t visits = cache->visits;
  if (cache->seen_visits == visits && seen_ns != 0) return age_ns >= asleep_ns;
  cache->seen_ns = now_ns;
  cache->seen_visits = visits;
  return false;
}

struct Lent {
  UnitLine* slab;
  Chain blocks;
};

// Under the lender's `lists`.
Lent find_lent(ClassSlot& slot) noexcept {
  for (int i = 0; i < most_slabs && slot.waiting != 0; ++i) {
    count_steps();
    UnitLine* slab = line_of(slot.waiting);
    slot.waiting = slab->next;
    if (remote_of(slab).count() > slab->carved / least_share) return {slab, take_remote(slab)};
  }
  return {nullptr, {nullptr, 0}};
}

Lent lend(ThreadCache* lender, std::uint32_t serving, std::uint32_t size_class,
          std::uint64_t now_ns) noexcept {
  Lent lent{nullptr, {nullptr, 0}};
  if (!is_asleep(lender, now_ns)) return lent;
  const bool has_own = has_slabs(lender, size_class);
  const bool has_coarser = serving != size_class && has_slabs(lender, serving);
  if (!(has_own || has_coarser) || !lender->lists.try_lock()) return lent;
  if (has_own) lent = find_lent(lender->slots[size_class]);
  if (lent.slab == nullptr && has_coarser) lent = find_lent(lender->slots[serving]);
  lender->lists.unlock();
  return lent;
}

Lent find_lender(ThreadCache* own, std::uint32_t serving, std::uint32_t size_class) noexcept {
  const std::uint64_t now_ns = coarse_ns();
  Lent lent{nullptr, {nullptr, 0}};
  for (int i = 0; i < most_lenders && lent.slab == nullptr; ++i) {
    count_steps();
    // The one that had blocks is asked first the next time.
    if (own->lender != nullptr && own->lender != own) lent = lend(own->lender, serving, size_class, now_ns);
    if (lent.slab == nullptr) own->lender = next_cache(own->lender);
  }
  return lent;
}

}  // namespace

Block* borrow_block(ThreadCache* own, std::uint32_t serving, std::uint32_t size_class) noexcept {
  // In a forked child, other threads' caches are settled instead (left_behind.hpp).
  if (own->is_private || has_left_behind || !can_borrow(own)) return nullptr;
  const Lent lent = find_lender(own, serving, size_class);
  return lent.slab == nullptr ? nullptr
                              : open_borrowed(own, lent.slab, lent.blocks, lent.slab->size_class, size_class);
}

}  // namespace heapwright::heap
