// SPDX-License-Identifier: MIT
// Which threads free whose blocks, and what each thread does.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heapwright::analyze {

struct CrossThread;

// Order-free sums of one thread's calls, except for releases of blocks.
struct ThreadCalls {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t allocator_ns = 0;

  void add(const ThreadCalls& other) noexcept {
    allocations += other.allocations;
    bytes += other.bytes;
    allocator_ns += other.allocator_ns;
  }
};

// Ordered state of one lane.
struct ThreadLife {
  std::uint64_t last_address = 0;   // address of the thread's latest allocation, until freed
  std::uint64_t last_begin_ns = 0;  // of that call
  std::uint32_t last_size = 0;      // as in its row; 0: wide
  std::uint32_t last_stack = 0;
  std::uint32_t run_length = 0;  // releases since the latest allocation
  std::uint64_t live_bytes = 0;  // of blocks it allocated
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t temporaries = 0;
  std::uint64_t own_blocks = 0;  // allocated and freed by it
  std::uint64_t own_bytes = 0;
  std::uint64_t releases = 0;
  std::uint64_t release_ns = 0;

  void add_release(std::uint64_t weight, std::uint64_t ns) noexcept {
    releases += weight;
    release_ns += ns;
  }
  // The peak including a block that is already freed.
  void raise(std::uint64_t bytes) noexcept {
    peak_live_bytes = live_bytes + bytes > peak_live_bytes ? live_bytes + bytes : peak_live_bytes;
  }
  void add_block(std::uint64_t bytes) noexcept {
    raise(bytes);
    live_bytes += bytes;
  }
};

// Blocks freed by a thread that did not allocate them, by pair of lanes.
class CrossThreadCounts {
 public:
  void add(std::uint32_t allocating_lane, std::uint32_t freeing_lane, std::uint64_t bytes,
           std::uint64_t weight) {
    const auto pair = std::uint64_t{allocating_lane} << 32 | freeing_lane;
    if (pair != last_pair_ || last_ == nullptr) [[unlikely]] {
      last_ = &cell_of(pair);
      last_pair_ = pair;
    }
    last_->blocks += weight;
    last_->bytes += bytes;
  }
  void begin_window();
  std::vector<CrossThread> finish(const std::vector<std::uint32_t>& thread_of_lane,
                                  const std::vector<ThreadLife>& lives) const;

 private:
  struct Cell {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
  };
  // Beyond this limit, new pairs are summed in one cell.
  static constexpr std::size_t pair_limit = std::size_t{1} << 20;

  Cell& cell_of(std::uint64_t pair);

  std::unordered_map<std::uint64_t, Cell> cells_;  // nodes stay in place, so last_ stays valid
  Cell others_;
  std::uint64_t last_pair_ = 0;
  Cell* last_ = nullptr;
};

}  // namespace heapwright::analyze
