// SPDX-License-Identifier: MIT
// The column of an event chunk with the kernel's work in the few calls that have any. docs/trace-format.md
// describes its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/byte_sink.hpp"
#include "base/varint.hpp"
#include "trace/kernel_work.hpp"

namespace heapwright::trace {

// The maximum size of an entry.
inline constexpr std::size_t max_kernel_entry_bytes = 11 * base::max_varint_bytes;

class KernelColumn {
 public:
  void start() noexcept {
    bytes_.clear();
    next_event_ = 0;
  }
  // `event` is the event's index in the chunk, in rising order.
  void add(std::uint32_t event, const KernelWork& work);
  const base::ByteSink& bytes() const noexcept { return bytes_; }

 private:
  base::ByteSink bytes_;
  std::uint32_t next_event_ = 0;
};

// Replaces `entries` by those of a chunk of `count` events. Throws TraceError.
void decode_kernel_column(base::ByteSource column, std::size_t count, std::vector<EventKernelWork>& entries);

}  // namespace heapwright::trace
