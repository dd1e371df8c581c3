// SPDX-License-Identifier: MIT
// The program's own switch: include/heapwright/record.h.
#include "record/observe.hpp"

namespace heapwright::record {
namespace {

void set_recording(std::uint32_t is_on) noexcept {
  if (link_process()) process.control->is_recording.store(is_on, std::memory_order_release);
}

}  // namespace

HEAPWRIGHT_HOOK void heapwright_record_start() noexcept { set_recording(1); }
HEAPWRIGHT_HOOK void heapwright_record_stop() noexcept { set_recording(0); }
HEAPWRIGHT_HOOK int heapwright_record_is_active() noexcept {
  return link_process() && process.control->is_recording.load(std::memory_order_acquire) != 0 ? 1 : 0;
}

}  // namespace heapwright::record
