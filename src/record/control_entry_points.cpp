// SPDX-License-Identifier: MIT
// Lets the program switch its recording on and off: include/heapwright/record.h.
#include "record/link.hpp"
#include "record/observe.hpp"
#include "session/switching.hpp"

namespace heapwright::record {
namespace {

void set_recording(bool is_on) noexcept {
  const auto ticks = [] { return rare_ticks(process.ticks_are_tsc); };
  if (link_process()) session::switch_recording(*process.control, is_on, ticks);
}

}  // namespace

HEAPWRIGHT_HOOK void heapwright_record_start() noexcept { set_recording(true); }
HEAPWRIGHT_HOOK void heapwright_record_stop() noexcept { set_recording(false); }
HEAPWRIGHT_HOOK int heapwright_record_is_active() noexcept {
  return link_process() && process.control->is_recording.load(std::memory_order_acquire) != 0 ? 1 : 0;
}

}  // namespace heapwright::record
