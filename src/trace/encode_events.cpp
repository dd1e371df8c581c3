// SPDX-License-Identifier: MIT
#include "trace/encode_events.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "trace/block.hpp"
#include "trace/encode_addresses.hpp"
#include "trace/encoder_columns.hpp"
#include "trace/format.hpp"
#include "trace/value_predictors.hpp"

namespace heapwright::trace {

namespace {

// Memory of one column, kept between chunks. Pages that no chunk fills are
// never touched.
class ColumnBuffer {
 public:
  void start(std::size_t capacity) {
    if (capacity_ < capacity) {
      memory_ = std::make_unique_for_overwrite<std::uint8_t[]>(capacity);
      capacity_ = capacity;
    }
    end = memory_.get();
  }
  std::span<const std::uint8_t> bytes() const noexcept {
    return {memory_.get(), static_cast<std::size_t>(end - memory_.get())};
  }
  std::uint8_t* end = nullptr;

 private:
  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace

struct EventEncoder::State {
  std::array<ColumnBuffer, column_limit> columns;
  StackPredictor stacks;
  SizePredictor sizes;
  AddressPredictor addresses;
  LivingBlocks living;
  BlockPacker packer;

  ColumnBuffer& column(ColumnId id) noexcept { return columns[static_cast<std::size_t>(id)]; }
  ColumnEnds ends(ColumnId code, ColumnId wide) noexcept { return {column(code).end, column(wide).end}; }
  void set_ends(ColumnId code, ColumnId wide, const ColumnEnds& ends) noexcept {
    column(code).end = ends.code;
    column(wide).end = ends.wide;
  }

  void start(const EventBatch& batch);
  EncodedTimes encode_times(const EventBatch& batch, std::uint64_t floor_ns);
  void encode_stacks(const EventBatch& batch);
  void encode_made_sizes(const EventBatch& batch);
  void encode_addresses(const EventBatch& batch);
  void pack(std::vector<std::uint8_t>& out);
};

void EventEncoder::State::start(const EventBatch& batch) {
  const std::size_t count = batch.count();
  for (ColumnBuffer& buffer : columns) buffer.start(count * base::max_varint_bytes);
  stacks.reset();
  sizes.reset();
  addresses.reset();
  living.start(count, batch.address.data());
}

EncodedTimes EventEncoder::State::encode_times(const EventBatch& batch, std::uint64_t floor_ns) {
  EncodedTimes times;
  const std::size_t count = batch.count();
  if (count == 0) return times;
  const std::uint64_t max_quanta = max_time_ns / time_quantum_ns;
  const auto quanta_of = [=](std::uint64_t ns) { return std::min(ns / time_quantum_ns, max_quanta); };
  const std::uint64_t* const begin_ns = batch.begin_ns.data();
  const std::uint32_t* const duration_ns = batch.duration_ns.data();
  ColumnEnds begins = ends(ColumnId::begin, ColumnId::begin_wide);
  ColumnEnds durations = ends(ColumnId::duration, ColumnId::duration_wide);
  std::uint64_t last = std::max(quanta_of(begin_ns[0]), quanta_of(floor_ns));
  std::uint64_t last_end_ns = 0;
  times.first_begin_ns = last * time_quantum_ns;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t begin = std::max(quanta_of(begin_ns[i]), last);
    begins.put_number(begin - last);
    last = begin;
    const std::uint32_t duration = duration_ns[i] / duration_quantum_ns;
    durations.put_number(duration);
    last_end_ns =
        std::max(last_end_ns, begin * time_quantum_ns + std::uint64_t{duration} * duration_quantum_ns);
  }
  times.last_begin_ns = last * time_quantum_ns;
  times.last_end_ns = last_end_ns;
  set_ends(ColumnId::begin, ColumnId::begin_wide, begins);
  set_ends(ColumnId::duration, ColumnId::duration_wide, durations);
  return times;
}

void EventEncoder::State::encode_stacks(const EventBatch& batch) {
  const std::size_t count = batch.count();
  const EventKind* const kind = batch.kind.data();
  const std::uint32_t* const stack = batch.stack.data();
  StackPredictor::Position position;
  ColumnEnds codes = ends(ColumnId::stack, ColumnId::stack_wide);
  std::uint8_t* alignment = column(ColumnId::alignment).end;
  for (std::size_t i = 0; i < count; ++i) {
    codes.put(stacks.encode(kind[i], stack[i], position, codes.wide));
    if ((kind_facts[kind[i]] & KindFacts::aligned) != 0) [[unlikely]]
      *alignment++ = batch.alignment_log2[i];
  }
  set_ends(ColumnId::stack, ColumnId::stack_wide, codes);
  column(ColumnId::alignment).end = alignment;
  std::uint8_t*& kinds = column(ColumnId::kind).end;
  std::memcpy(kinds, kind, count);
  kinds += count;
}

void EventEncoder::State::encode_made_sizes(const EventBatch& batch) {
  const std::size_t count = batch.count();
  const EventKind* const kind = batch.kind.data();
  const std::uint32_t* const stack = batch.stack.data();
  const std::uint64_t* const size = batch.size.data();
  const std::uint64_t* const usable = batch.usable.data();
  ColumnEnds size_ends = ends(ColumnId::size, ColumnId::size_wide);
  ColumnEnds usable_ends = ends(ColumnId::usable, ColumnId::usable_wide);
  for (std::size_t i = 0; i < count; ++i) {
    if ((kind_facts[kind[i]] & KindFacts::refers) != 0) continue;
    const auto codes = sizes.encode(stack[i], {size[i], usable[i]}, size_ends.wide, usable_ends.wide);
    size_ends.put(codes.size);
    usable_ends.put(codes.usable);
  }
  set_ends(ColumnId::size, ColumnId::size_wide, size_ends);
  set_ends(ColumnId::usable, ColumnId::usable_wide, usable_ends);
}

void EventEncoder::State::encode_addresses(const EventBatch& batch) {
  AddressPass pass(batch, addresses, living, ends(ColumnId::made_address, ColumnId::made_address_wide),
                   ends(ColumnId::reference, ColumnId::reference_wide),
                   ends(ColumnId::stated_size, ColumnId::stated_usable));
  pass.encode(batch.count());
  set_ends(ColumnId::made_address, ColumnId::made_address_wide, pass.made());
  set_ends(ColumnId::reference, ColumnId::reference_wide, pass.reference());
  set_ends(ColumnId::stated_size, ColumnId::stated_usable, pass.stated());
}

void EventEncoder::State::pack(std::vector<std::uint8_t>& out) {
  const auto says_nothing = [&](std::size_t id) {
    const auto bytes = columns[id].bytes();
    if (bytes.empty() || is_wide(static_cast<ColumnId>(id))) return bytes.empty();
    return bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
  };
  const std::size_t count_at = out.size();
  out.push_back(0);
  for (std::size_t id = 1; id < column_limit; ++id) {
    if (says_nothing(id)) continue;
    ++out[count_at];
    out.push_back(static_cast<std::uint8_t>(id));
    packer.pack(columns[id].bytes(), out);
  }
}

EventEncoder::EventEncoder() : state_(std::make_unique<State>()) {}
EventEncoder::~EventEncoder() = default;

EncodedTimes EventEncoder::encode(const EventBatch& batch, std::uint64_t floor_ns,
                                  std::vector<std::uint8_t>& out) {
  state_->start(batch);
  const EncodedTimes times = state_->encode_times(batch, floor_ns);
  state_->encode_stacks(batch);
  state_->encode_made_sizes(batch);
  state_->encode_addresses(batch);
  state_->pack(out);
  return times;
}

}  // namespace heapwright::trace
