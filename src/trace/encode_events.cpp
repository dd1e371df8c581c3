// SPDX-License-Identifier: MIT
#include "trace/encode_events.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "trace/event_rows.hpp"

namespace heapwright::trace {

namespace {

using Bytes = std::span<const std::uint8_t>;

bool says_nothing(ColumnId id, Bytes bytes) noexcept {
  if (bytes.empty() || is_wide(id)) return bytes.empty();
  return bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace

void EventEncoder::start(std::uint64_t floor_ns) {
  count_ = 0;
  stack_position_ = {};
  first_begin_quanta_ = last_begin_quanta_ = floor_ns / time_quantum_ns;
  last_end_ns_ = 0;
  for (base::ByteSink* column :
       {&begin_wide_, &duration_wide_, &stack_wide_, &size_wide_, &usable_wide_, &alignment_}) {
    column->clear();
  }
  kernel_.start();
  stacks_.reset();
  sizes_.reset();
  addresses_.start();
}

void EventEncoder::add(const EventBatch& batch) {
  const std::size_t count = batch.count();
  auto kernel = batch.kernel.begin();
  for (std::size_t i = 0; i < count; ++i) {
    Event event = event_at(batch, i);
    event.begin_ns = std::min(event.begin_ns, max_time_ns);
    add(event);
    if (kernel != batch.kernel.end() && kernel->event == i) add_kernel_work((kernel++)->work);
  }
}

EncodedTimes EventEncoder::finish(BlockPacker& packer, std::vector<std::uint8_t>& out) const {
  const std::size_t count_at = out.size();
  out.push_back(0);
  const auto put = [&](ColumnId id, Bytes bytes) {
    if (says_nothing(id, bytes)) return;
    ++out[count_at];
    out.push_back(static_cast<std::uint8_t>(id));
    packer.pack(bytes, out);
  };
  const std::uint32_t made = addresses_.made_count();
  put(ColumnId::kind, {kind_.data(), count_});
  put(ColumnId::begin, {begin_.data(), count_});
  put(ColumnId::begin_wide, begin_wide_.bytes());
  put(ColumnId::duration, {duration_.data(), count_});
  put(ColumnId::duration_wide, duration_wide_.bytes());
  put(ColumnId::stack, {stack_.data(), count_});
  put(ColumnId::stack_wide, stack_wide_.bytes());
  put(ColumnId::size, {size_.data(), made});
  put(ColumnId::size_wide, size_wide_.bytes());
  put(ColumnId::usable, {usable_.data(), made});
  put(ColumnId::usable_wide, usable_wide_.bytes());
  put(ColumnId::stated_size, addresses_.stated_size());
  put(ColumnId::stated_usable, addresses_.stated_usable());
  put(ColumnId::made_address, addresses_.made());
  put(ColumnId::made_address_wide, addresses_.made_wide());
  put(ColumnId::reference, addresses_.reference());
  put(ColumnId::reference_wide, addresses_.reference_wide());
  put(ColumnId::alignment, alignment_.bytes());
  put(ColumnId::kernel, kernel_.bytes().bytes());
  return {first_begin_quanta_ * time_quantum_ns, last_begin_ns(), std::max(last_begin_ns(), last_end_ns_)};
}

}  // namespace heapwright::trace
