// SPDX-License-Identifier: MIT
// Page faults of one process on pages that had faulted before: memory that was given back to the kernel and
// taken again, or became private after a fork.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/records.hpp"

namespace heapwright::collect {

// One bit for each page, in leaves of 128 MiB of addresses, made when a page of them first faults.
class FaultedPages {
 public:
  // Whether the page was in the set; adds it. Of more leaves than fit, nothing is known.
  bool add(std::uint64_t page) {
    const std::uint64_t number = page / pages_per_leaf;
    if (last_ == nullptr || number != last_number_) {
      last_ = leaf_of(number);
      last_number_ = number;
      if (last_ == nullptr) return false;
    }
    std::uint64_t& word = (*last_)[page % pages_per_leaf / 64];
    const std::uint64_t bit = std::uint64_t{1} << (page % 64);
    const bool was_in = (word & bit) != 0;
    word |= bit;
    return was_in;
  }

 private:
  static constexpr std::size_t pages_per_leaf = 32768;
  static constexpr std::size_t most_leaves = 16384;  // 64 MiB, for 2 TiB of addresses
  using Leaf = std::array<std::uint64_t, pages_per_leaf / 64>;

  Leaf* leaf_of(std::uint64_t number);

  std::unordered_map<std::uint64_t, std::unique_ptr<Leaf>> leaves_;
  std::uint64_t last_number_ = 0;
  Leaf* last_ = nullptr;
};

class Refaults {
 public:
  // Per thread: the run that its next fault may continue. `weight` 0: there is none.
  struct Open {
    trace::RefaultRun run{.weight = 0};
    bool is_again = false;  // the fault under way, or the last one
  };

  // A page fault of a thread begins, and ends after that much work.
  void begin(Open& open, std::uint64_t address, std::uint64_t time_ns);
  void end(Open& open, std::uint64_t work_ns) noexcept;
  // The thread's run is complete.
  void close(Open& open);
  // The completed runs; they are forgotten.
  std::vector<trace::RefaultRun> take() { return std::exchange(runs_, {}); }
  // Adds the figures of single faults.
  void add_to(trace::ProcessorSample& sample) const noexcept;

 private:
  // After this many runs, every second is left out, and so on: a trace has at most some millions.
  static constexpr std::uint64_t runs_per_thinning = 1U << 17U;

  FaultedPages pages_;
  std::vector<trace::RefaultRun> runs_;
  std::uint64_t run_count_ = 0;
  std::uint64_t faults_ = 0;
  std::uint64_t fault_ns_ = 0;
  std::uint64_t refaults_ = 0;
  std::uint64_t refault_ns_ = 0;
};

}  // namespace heapwright::collect
