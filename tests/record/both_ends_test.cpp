// SPDX-License-Identifier: MIT
// Threads that record and a reader that drains, as they are: lanes, ring and unwinder of the recorder, and
// the collector's LaneDrain with its table of stacks. ThreadSanitizer sees a missing order between them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "collect/lane_drain.hpp"
#include "record/lane.hpp"

// Two slots of the node table at a time are read by one vector load, which no atomic can say
// (src/unwind/node_table.cpp); a slot is found or not, and what is not found is looked for by atomics.
extern "C" const char* __tsan_default_suppressions() { return "race:slots_holding\n"; }

namespace heapwright::record {

constinit WipedOnFork wiped_on_fork{};
constinit Process process{};

session::Lane* map_lane(std::uint32_t index, session::Lane*, std::uint32_t) noexcept {
  return &process.block->lanes[index];
}
bool may_read_clock() noexcept { return true; }

namespace {

constexpr unsigned threads_at_once = 4;
constexpr unsigned waves = 3;
// More than a ring, so that each thread waits for the reader.
constexpr std::uint64_t calls = session::lane_ring_slots + 5'000;

// GCC leaves the frame pointer out otherwise, which capture() begins with.
[[gnu::noinline, gnu::optimize("no-omit-frame-pointer")]] void record_one(ThreadRecorder& thread,
                                                                          std::uint64_t number) {
  const std::uint32_t node = unwind::capture(process.tables, *thread.stack, __builtin_frame_address(0));
  emit(thread, Call{.kind = number % 2 == 0 ? EventKind::malloc_ : EventKind::realloc_,
                    .begin_ticks = platform::read_ticks(process.ticks_are_tsc),
                    .size = 8,
                    .usable = 8,
                    .address = number + 1,
                    .old_address = number % 2 == 0 ? 0 : number,
                    .stack_node = node});
}

[[gnu::noinline]] void at_depth(ThreadRecorder& thread, std::uint64_t number, std::uint64_t depth) {
  if (depth == 0) {
    record_one(thread, number);
  } else {
    at_depth(thread, number, depth - 1);
  }
  asm volatile("");
}

// The reader of all lanes, as ProcessRecording is.
class Reader {
 public:
  explicit Reader(session::ProcessBlock& block) : block_(block) { clock_.calibrate(); }

  void read_until(const std::atomic<bool>& is_over) {
    for (bool is_last = false; !is_last;) {
      is_last = is_over.load();
      const std::uint32_t lanes = block_.lane_count.load(std::memory_order_acquire);
      for (std::uint32_t index = 0; index < lanes; ++index) read(index);
    }
    for (auto& [index, drain] : drains_) end(*drain);
    drains_.clear();
  }

  std::uint64_t events = 0;
  std::uint64_t damaged = 0;
  std::uint32_t ended_lanes = 0;
  std::size_t stacks() const { return stacks_.pending_stacks.size(); }

 private:
  void read(std::uint32_t index) {
    session::Lane& lane = block_.lanes[index];
    const std::uint32_t state = lane.state.load(std::memory_order_acquire);
    if (state != session::lane_live && state != session::lane_exiting) return;
    auto& drain = drains_[index];
    if (drain == nullptr) {
      drain = std::make_unique<collect::LaneDrain>(lane, session::ring_slots_of(index), encoders_);
    }
    drain->take(stacks_, clock_);
    if (drain->is_chunk_full()) drain->end_chunk();
    if (state == session::lane_exiting && drain->waiting_slots() == 0) {
      end(*drain);
      drains_.erase(index);
      ++ended_lanes;
      lane.state.store(session::lane_unused, std::memory_order_release);
    }
  }
  void end(collect::LaneDrain& drain) {
    events += drain.events();
    damaged += drain.damaged_slots();
  }

  session::ProcessBlock& block_;
  collect::TickClock clock_;
  collect::EncoderPool encoders_;
  collect::StackDefinitions stacks_{block_, clock_.conversion()};
  std::map<std::uint32_t, std::unique_ptr<collect::LaneDrain>> drains_;
};

TEST(BothEnds, EveryCallArrivesAndLanesServeAgain) {
  process.block =
      static_cast<session::ProcessBlock*>(mmap(nullptr, sizeof(session::ProcessBlock), PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(static_cast<void*>(process.block), MAP_FAILED);
  session::Control control{};
  control.collector_life.word = 1;  // held: the reader is alive
  process.control = &control;
  process.ticks_are_tsc = collect::TickClock().is_tsc();
  process.tables = {.block = process.block, .ticks_are_tsc = process.ticks_are_tsc};
  wiped_on_fork.mode.store(Mode::active);
  begin_lanes(true, process.block->lanes);
  Reader reader(*process.block);
  std::atomic<bool> is_over{false};
  std::thread reading([&] { reader.read_until(is_over); });
  for (unsigned wave = 0; wave < waves; ++wave) {
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads_at_once; ++i) {
      running.emplace_back([] {
        ThreadRecorder& thread = *claim_lane();
        for (std::uint64_t number = 0; number < calls; ++number) at_depth(thread, number, number % 13);
        current_thread = nullptr;
      });
    }
    for (std::thread& thread : running) thread.join();
  }
  is_over = true;
  reading.join();
  EXPECT_EQ(reader.events, calls * threads_at_once * waves);
  EXPECT_EQ(reader.damaged, 0U);
  EXPECT_GE(reader.ended_lanes, threads_at_once * waves - threads_at_once);
  EXPECT_LT(process.block->lane_count.load(), threads_at_once * waves);
  EXPECT_GE(reader.stacks(), 13U);  // each depth is another stack
  munmap(process.block, sizeof(session::ProcessBlock));
}

}  // namespace
}  // namespace heapwright::record
