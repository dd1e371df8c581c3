// SPDX-License-Identifier: MIT
#include "record/process.hpp"

#include <sys/prctl.h>

#include "platform/clock.hpp"
#include "platform/raw_syscall.hpp"
#include "record/session_link.hpp"
#include "unwind/loaded_objects.hpp"
#include "unwind/node_table.hpp"

namespace heapwright::record {

constinit WipedOnFork wiped_on_fork{};
constinit Process process{};

namespace {

// `bytes`: of the whole part at that level.
bool grow(unwind::MappedPart& part, std::uint32_t level, std::size_t bytes) noexcept {
  if (is_confined()) return false;
  void* const memory = map_after(part.memory(), 0, bytes);
  if (memory == nullptr) return false;
  const std::uint64_t place = reinterpret_cast<std::uint64_t>(memory) | level;
  std::uint64_t seen = part.place.load(std::memory_order_relaxed);
  while ((seen & unwind::MappedPart::level_mask) < level) {
    if (part.place.compare_exchange_weak(seen, place, std::memory_order_acq_rel)) return true;
  }
  unmap_part(memory, bytes);  // another thread was first
  return true;
}

}  // namespace

session::Lane* map_lane(std::uint32_t index, session::Lane* mapped, std::uint32_t mapped_index) noexcept {
  if (is_confined()) return nullptr;
  return static_cast<session::Lane*>(
      map_after(mapped, (index - mapped_index) * sizeof(session::Lane), sizeof(session::Lane)));
}

bool may_read_clock() noexcept {
  if (process.clock_taken_ticks.load(std::memory_order_relaxed) == 0) return true;
  if (is_confined()) return false;
  int mode = PR_TSC_ENABLE;
  platform::raw_syscall(SYS_prctl, PR_GET_TSC, platform::raw_argument(&mode));
  return mode == PR_TSC_ENABLE;
}

std::uint64_t rare_ticks(bool are_tsc) noexcept {
  return may_read_clock() ? platform::read_ticks(are_tsc)
                          : process.clock_taken_ticks.load(std::memory_order_relaxed);
}

bool grow_nodes(std::uint32_t level) noexcept {
  return grow(process.nodes, level, unwind::node_levels[level] * sizeof(session::NodeWord));
}

bool grow_modules(std::uint32_t level) noexcept {
  return grow(process.modules, level, unwind::module_levels[level] * sizeof(session::ModuleEntry));
}

Starts map_starts(session::Control& control) noexcept {
  constexpr std::uint32_t levels[] = {4096 / sizeof(session::StartEntry), session::max_starts};
  std::uint64_t seen = process.starts.place.load(std::memory_order_acquire);
  for (std::uint32_t level = 1; seen == 0 && !is_confined(); --level) {
    const std::size_t bytes = levels[level] * sizeof(session::StartEntry);
    void* const memory = map_after(&control, session::control_without_starts_bytes, bytes);
    const std::uint64_t place = reinterpret_cast<std::uint64_t>(memory) | level;
    if (memory != nullptr && process.starts.place.compare_exchange_strong(seen, place)) break;
    if (memory != nullptr) unmap_part(memory, bytes);  // another thread was first
    if (level == 0) break;
  }
  auto* const first = static_cast<session::StartEntry*>(process.starts.memory());
  return {first, first == nullptr ? 0 : levels[process.starts.level()]};
}

}  // namespace heapwright::record
