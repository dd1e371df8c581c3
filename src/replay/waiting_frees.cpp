// SPDX-License-Identifier: MIT
#include "replay/waiting_frees.hpp"

#include <algorithm>

#include "heapwright/deferred_free.hpp"

namespace heapwright::replay {

WaitingFrees::WaitingFrees(const ChangeRequest& request, std::size_t lanes)
    : request_(request), parts_(request.defers_frees() ? request.parts.size() : 0), queues_(lanes * parts_) {}

void WaitingFrees::end_row(std::uint32_t lane) noexcept {
  for (std::size_t part = 0; part < parts_; ++part) queue_of(lane, part).is_row_open = false;
}

bool WaitingFrees::put(std::uint32_t lane, std::uint64_t now_ns, WaitingFree free) {
  constexpr std::uint64_t ns_of_ms = 1'000'000;
  Queue& queue = queue_of(lane, free.part);
  const bool goes_on = queue.is_row_open && queue.rows > 0 && now_ns < queue.frees.back().due_ns;
  free.begins_row = !goes_on;
  free.due_ns = goes_on ? queue.frees.back().due_ns : now_ns + ns_of_ms * request_.parts[free.part].number;
  queue.rows += free.begins_row ? 1 : 0;
  queue.is_row_open = true;
  queue.frees.push_back(free);
  next_ns_ = std::min(next_ns_, free.due_ns);
  return free.begins_row;
}

bool WaitingFrees::is_too_full(std::uint32_t lane, std::size_t part) const noexcept {
  static const std::size_t room = deferred_options{}.entries;
  return queues_[lane * parts_ + part].rows > room;
}

void WaitingFrees::find_next() noexcept {
  next_ns_ = UINT64_MAX;
  for (const Queue& queue : queues_) {
    if (queue.rows > 0) next_ns_ = std::min(next_ns_, queue.frees.front().due_ns);
  }
}

}  // namespace heapwright::replay
