// SPDX-License-Identifier: MIT
// HEAPWRIGHT_HEAP_...: read once from the environment, before the first block.
#pragma once

#include <cstdint>

namespace heapwright::heap {

enum class HugePages : std::uint8_t { never, always, automatic };

struct Settings {
  bool has_maintenance_thread;
  bool is_hardened;
  bool publishes_counters;
  bool prints_counters;  // at exit; then they are published, too
  std::uint32_t decay_ms;
  bool starts_thread_early;  // with the process, not after the heap has grown
  bool gives_back_on_calls;
  bool lets_thread_be_unconfined;
  HugePages huge_pages;  // never in hardened mode, whose growths are short
};
extern Settings settings;

// Reports each unknown name or value on stderr.
void read_settings() noexcept;

}  // namespace heapwright::heap
