// SPDX-License-Identifier: MIT
// How long threads worked together, by the timestamps of the working threads. A clock read by another thread
// is late: that thread may only run after the work is done.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "figures/process_figures.hpp"
#include "lab/threads.hpp"

namespace heapwright::lab {

class WorkSpan {
 public:
  explicit WorkSpan(std::size_t threads) noexcept : threads_(std::min(threads, max_threads)) {}

  // Calls work() and stores its begin and end. One thread per number below `threads`; each may work again.
  template <typename Work>
  void run(std::size_t thread, const Work& work) {
    const std::uint64_t begin_ns = figures::now_ns();
    work();
    marks_[thread] = {begin_ns, figures::now_ns()};
  }

  // From the first begin to the last end. Every thread must have worked, and a barrier or a join must
  // separate their work from this call.
  std::uint64_t elapsed_ns() const noexcept {
    Mark whole = marks_[0];
    for (std::size_t i = 1; i < threads_; ++i) {
      whole.begin_ns = std::min(whole.begin_ns, marks_[i].begin_ns);
      whole.end_ns = std::max(whole.end_ns, marks_[i].end_ns);
    }
    return whole.end_ns - whole.begin_ns;
  }

 private:
  struct alignas(64) Mark {
    std::uint64_t begin_ns;
    std::uint64_t end_ns;
  };

  std::size_t threads_;
  std::array<Mark, max_threads> marks_{};
};

}  // namespace heapwright::lab
