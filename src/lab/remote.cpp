// SPDX-License-Identifier: MIT
// Question: what does a cross-thread free cost?
// Load: --blocks blocks of everyday sizes. --pattern pipeline: one thread allocates, another frees. --pattern
// all: each of --threads threads allocates and sends every block to a random other one, which frees it.
// Blocks pass through bounded rings, one per pair of threads, so the live set is bounded too.
// Figures: blocks per second over all threads, and the resident bytes left after every block was freed.
#include <sched.h>

#include <atomic>
#include <cstdlib>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "lab/experiment.hpp"
#include "lab/loads.hpp"
#include "lab/threads.hpp"
#include "lab/work_span.hpp"

namespace heapwright::lab {
namespace {

constexpr std::size_t ring_slots = 1024;
constexpr Parameter parameters[] = {{"blocks", "8000000", true}, {"pattern", "pipeline"}, {"threads", "2"}};

// One writer, one reader; an empty slot is null.
struct Ring {
  alignas(64) std::uint64_t written;
  alignas(64) std::uint64_t read;
  alignas(64) std::atomic<void*> slots[ring_slots];

  bool push(void* block) noexcept {
    std::atomic<void*>& slot = slots[written % ring_slots];
    if (slot.load(std::memory_order_acquire) != nullptr) return false;
    slot.store(block, std::memory_order_release);
    ++written;
    return true;
  }
  void* pop() noexcept {
    std::atomic<void*>& slot = slots[read % ring_slots];
    void* block = slot.load(std::memory_order_acquire);
    if (block == nullptr) return nullptr;
    slot.store(nullptr, std::memory_order_release);
    ++read;
    return block;
  }
};

class Exchange {
 public:
  Exchange(std::size_t threads, std::uint64_t total)
      : threads_(threads), total_(total), rings_(threads * threads) {}

  // Sends `quota` blocks and frees those that arrive, until all have arrived everywhere.
  void work(std::size_t self, std::uint64_t quota, Random random) noexcept {
    std::uint64_t sent = 0;
    void* waiting = nullptr;
    std::size_t target = 0;
    while (sent < quota || received_.load(std::memory_order_relaxed) < total_) {
      bool is_stuck = sent == quota;
      for (int i = 0; i < 32 && sent < quota; ++i) {
        if (waiting == nullptr) {
          waiting = allocate(random);
          target = (self + 1 + random.below(threads_ - 1)) % threads_;
        }
        is_stuck = !rings_[self * threads_ + target].push(waiting);
        if (is_stuck) break;
        waiting = nullptr;
        ++sent;
      }
      if (free_arrivals(self) == 0 && is_stuck) sched_yield();
    }
  }

 private:
  static void* allocate(Random& random) noexcept {
    const std::uint64_t size = mixed_size(random);
    auto* block = static_cast<volatile char*>(std::malloc(size));
    if (block == nullptr) figures::give_up("malloc(%zu) failed", size);
    block[0] = 1;
    return const_cast<char*>(block);
  }

  std::uint64_t free_arrivals(std::size_t self) noexcept {
    std::uint64_t count = 0;
    for (std::size_t from = 0; from < threads_; ++from) {
      Ring& ring = rings_[from * threads_ + self];
      for (int i = 0; i < 64; ++i) {
        void* block = ring.pop();
        if (block == nullptr) break;
        std::free(block);
        ++count;
      }
    }
    if (count > 0) received_.fetch_add(count, std::memory_order_relaxed);
    return count;
  }

  std::size_t threads_;
  std::uint64_t total_;
  figures::MappedArray<Ring> rings_;
  alignas(64) std::atomic<std::uint64_t> received_ = 0;
};

std::uint64_t needed_bytes(const Options& options) {
  return std::uint64_t{256} << 20 | options.count("threads") << 24;
}

void run(const Options& options, figures::Report& report) {
  const bool is_pipeline = options.choice("pattern", {"pipeline", "all"}) == 0;
  const std::size_t threads = is_pipeline ? 2 : options.count("threads");
  if (threads < 2 || threads > max_threads) figures::refuse("--threads takes 2 to %zu", max_threads);
  const std::uint64_t quota = options.count("blocks") / (is_pipeline ? 1 : threads);
  const std::uint64_t total = is_pipeline ? quota : quota * threads;
  Exchange exchange(threads, total);
  Barrier barrier(threads);
  WorkSpan span(threads);
  const std::uint64_t before_bytes = figures::resident_bytes();
  const auto work = [&](std::size_t thread) {
    barrier.wait();
    const bool is_sender = !is_pipeline || thread == 0;
    const Random random(options.seed() * max_threads + thread);
    span.run(thread, [&] { exchange.work(thread, is_sender ? quota : 0, random); });
  };
  run_threads(threads, work, [] {});
  report.rate("blocks_per_s", static_cast<double>(total), span.elapsed_ns(), threads);
  report.figure("ns_per_block", static_cast<double>(span.elapsed_ns()) / static_cast<double>(total));
  report.figure("resident_bytes", figures::resident_growth_bytes(before_bytes));
}

}  // namespace

const Experiment remote_experiment{"remote", parameters, needed_bytes, run};

}  // namespace heapwright::lab
