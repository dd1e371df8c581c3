// SPDX-License-Identifier: MIT
#include "trace/event.hpp"

namespace heapwright::trace {

void EventBatch::clear() noexcept {
  kind.clear();
  alignment_log2.clear();
  duration_ns.clear();
  stack.clear();
  begin_ns.clear();
  size.clear();
  usable.clear();
  address.clear();
  old_address.clear();
  kernel.clear();
}

void EventBatch::resize(std::size_t count) {
  kind.resize(count);
  alignment_log2.resize(count);
  duration_ns.resize(count);
  stack.resize(count);
  begin_ns.resize(count);
  size.resize(count);
  usable.resize(count);
  address.resize(count);
  old_address.resize(count);
  kernel.clear();
}

}  // namespace heapwright::trace
