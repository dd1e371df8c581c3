// SPDX-License-Identifier: MIT
#include "program_thread.hpp"

#include <algorithm>

namespace heapwright::trace::test {

ProgramThread::ProgramThread(std::uint64_t seed, std::uint32_t stacks) : random_(seed), stacks_(stacks) {
  top_ += (seed % 64) << 36U;
}

EventFields ProgramThread::call(EventKind kind, std::uint32_t stack) {
  EventFields event;
  event.kind = kind;
  clock_ns_ += 40 + random_() % 60 + (random_() % 16 == 0 ? random_() % 3000 : 0);
  event.begin_ns = clock_ns_;
  event.duration_ns =
      static_cast<std::uint32_t>(16 + random_() % 24 + (random_() % 50 == 0 ? random_() % 4000 : 0));
  clock_ns_ += event.duration_ns;
  event.stack = stack;
  return event;
}

void ProgramThread::allocate(EventBatch& batch, std::uint32_t site) {
  EventFields event = call(site % 3 == 0 ? EventKind::new_plain : EventKind::malloc_, site);
  const bool is_varied = site % 4 == 1;
  event.size = is_varied ? 1 + random_() % 200 : 16 + (site * 40503U) % 500;
  event.usable = std::max<std::uint64_t>(24, ((event.size + 8 + 15) & ~15ULL) - 8);
  auto& reusable = released_[event.usable];
  if (!reusable.empty()) {
    event.address = reusable.back();
    reusable.pop_back();
  } else {
    event.address = top_;
    top_ += event.usable + 8;
  }
  living_.push_back({event.address, event.usable});
  append(batch, event);
}

void ProgramThread::release(EventBatch& batch, std::size_t place) {
  EventFields event = call(EventKind::free_, 0);
  const Block block = living_[place];
  event.address = block.address;
  released_[block.usable].push_back(block.address);
  living_.erase(living_.begin() + static_cast<std::ptrdiff_t>(place));
  append(batch, event);
}

EventBatch ProgramThread::run(std::size_t count) {
  EventBatch batch;
  while (batch.count() < count) {
    if (random_() % 200 == 0) phase_ = static_cast<std::uint32_t>(random_() % 64);
    const std::size_t burst = 1 + random_() % 6;
    for (std::size_t i = 0; i < burst && batch.count() < count; ++i) {
      const bool is_usual = random_() % 16 != 0;
      const auto step = static_cast<std::uint32_t>(is_usual ? phase_ * 6 + i : random_() % stacks_);
      allocate(batch, 1 + step % (stacks_ - 1));
    }
    // Most blocks go soon, newest first; some stay; some old one goes.
    std::size_t releases = living_.size() > 2000 ? burst : random_() % (burst + 1);
    for (; releases > 0 && !living_.empty() && batch.count() < count; --releases) {
      const bool is_old = random_() % 20 == 0;
      release(batch, is_old ? random_() % living_.size() : living_.size() - 1);
    }
  }
  return batch;
}

}  // namespace heapwright::trace::test
