// SPDX-License-Identifier: MIT
// A batch's events one by one.
#pragma once

#include <cstddef>

#include "trace/event.hpp"

namespace heapwright::trace {

// Without kernel work. Precondition: index < batch.count().
inline Event event_at(const EventBatch& batch, std::size_t index) {
  return {.kind = batch.kind[index],
          .alignment_log2 = batch.alignment_log2[index],
          .duration_ns = batch.duration_ns[index],
          .stack = batch.stack[index],
          .begin_ns = batch.begin_ns[index],
          .size = batch.size[index],
          .usable = batch.usable[index],
          .address = batch.address[index],
          .old_address = batch.old_address[index]};
}

inline void append(EventBatch& batch, const Event& event) {
  batch.kind.push_back(event.kind);
  batch.alignment_log2.push_back(event.alignment_log2);
  batch.duration_ns.push_back(event.duration_ns);
  batch.stack.push_back(event.stack);
  batch.begin_ns.push_back(event.begin_ns);
  batch.size.push_back(event.size);
  batch.usable.push_back(event.usable);
  batch.address.push_back(event.address);
  batch.old_address.push_back(event.old_address);
}

}  // namespace heapwright::trace
