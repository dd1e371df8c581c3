// SPDX-License-Identifier: MIT
#include "record/process.hpp"

#include <cerrno>
#include <cstddef>

#include "platform/raw_syscall.hpp"
#include "record/session_link.hpp"

namespace heapwright::record {

constinit WipedOnFork wiped_on_fork{};
constinit Process process{};

namespace {

// A collector whose process cannot be seen counts as gone after it has read nothing for this long.
constexpr std::uint64_t unseen_patience_ns = 10'000'000'000;
constinit std::atomic<bool> unseen_collector_is_lost{false};

}  // namespace

session::Lane* map_lane(std::uint32_t index) noexcept {
  if (process.lanes_mapped_at_once) return &process.block->lanes[index];
  const int file = open_session();
  if (file < 0) return nullptr;
  const std::uint64_t offset = session::process_offset(process.block_index) +
                               offsetof(session::ProcessBlock, lanes) +
                               index * std::uint64_t{sizeof(session::Lane)};
  void* lane = map_part(*process.control, file, offset, sizeof(session::Lane));
  close_session(file);
  return static_cast<session::Lane*>(lane);
}

bool is_collector_alive(std::uint64_t waited_ns) noexcept {
  if (process.control->is_closed.load(std::memory_order_acquire) != 0) return false;
  if (!process.collector_was_visible) {
    if (waited_ns >= unseen_patience_ns) unseen_collector_is_lost.store(true, std::memory_order_relaxed);
    return !unseen_collector_is_lost.load(std::memory_order_relaxed);
  }
  return platform::raw_syscall(SYS_kill, process.control->collector_process_id, 0) != -ESRCH;
}

}  // namespace heapwright::record
