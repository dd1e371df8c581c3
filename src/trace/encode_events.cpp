// SPDX-License-Identifier: MIT
#include "trace/encode_events.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "trace/address_predictor.hpp"
#include "trace/block.hpp"
#include "trace/column.hpp"
#include "trace/format.hpp"
#include "trace/living_blocks.hpp"
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
  std::vector<BlockIndex> referred;  // by event: the block a reference refers to

  ColumnBuffer& column(ColumnId id) noexcept { return columns[static_cast<std::size_t>(id)]; }
  void put(ColumnId id, std::uint8_t code) noexcept { *column(id).end++ = code; }
  void put_wide(ColumnId id, std::uint64_t value) noexcept {
    std::uint8_t*& end = column(id).end;
    end = base::put_varint(end, value);
  }
  void put_signed(ColumnId id, std::int64_t value) noexcept { put_wide(id, base::zigzag_encode(value)); }

  void start(const EventBatch& batch);
  EncodedTimes encode_times(const EventBatch& batch, std::uint64_t floor_ns);
  void encode_stacks(const EventBatch& batch);
  void encode_made_sizes(const EventBatch& batch);
  void encode_addresses(const EventBatch& batch);
  void encode_stated_sizes(const EventBatch& batch);
  BlockIndex encode_reference(BlockIndex at, std::uint64_t address, bool is_gone);
  void encode_made(const EventBatch& batch, BlockIndex at, BlockIndex old_block);
  std::uint8_t code_of_living(BlockIndex at, BlockIndex block) noexcept;
  void pack(std::vector<std::uint8_t>& out);
};

void EventEncoder::State::start(const EventBatch& batch) {
  const std::size_t count = batch.count();
  for (ColumnBuffer& buffer : columns) buffer.start(count * base::max_varint_bytes);
  stacks.reset();
  sizes.reset();
  addresses.reset();
  living.start(count, batch.address.data());
  referred.assign(count, no_block);
}

EncodedTimes EventEncoder::State::encode_times(const EventBatch& batch, std::uint64_t floor_ns) {
  EncodedTimes times;
  const std::size_t count = batch.count();
  if (count == 0) return times;
  const std::uint64_t max_quanta = max_time_ns / time_quantum_ns;
  const auto quanta_of = [=](std::uint64_t ns) { return std::min(ns / time_quantum_ns, max_quanta); };
  std::uint64_t last = std::max(quanta_of(batch.begin_ns[0]), quanta_of(floor_ns));
  times.first_begin_ns = last * time_quantum_ns;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t begin = std::max(quanta_of(batch.begin_ns[i]), last);
    const std::uint64_t delta = begin - last;
    put(ColumnId::begin, static_cast<std::uint8_t>(std::min<std::uint64_t>(delta, code_wide)));
    if (delta >= code_wide) put_wide(ColumnId::begin_wide, delta - code_wide);
    last = begin;

    const std::uint32_t duration = batch.duration_ns[i] / duration_quantum_ns;
    put(ColumnId::duration, static_cast<std::uint8_t>(std::min<std::uint32_t>(duration, code_wide)));
    if (duration >= code_wide) put_wide(ColumnId::duration_wide, duration - code_wide);
    times.last_end_ns =
        std::max(times.last_end_ns, begin * time_quantum_ns + std::uint64_t{duration} * duration_quantum_ns);
  }
  times.last_begin_ns = last * time_quantum_ns;
  return times;
}

void EventEncoder::State::encode_stacks(const EventBatch& batch) {
  StackPredictor::Position position;
  std::uint8_t* code = column(ColumnId::stack).end;
  std::uint8_t* wide = column(ColumnId::stack_wide).end;
  for (std::size_t i = 0; i < batch.count(); ++i) {
    *code++ = stacks.encode(batch.kind[i], batch.stack[i], position, wide);
    if (has_alignment(batch.kind[i])) put(ColumnId::alignment, batch.alignment_log2[i]);
  }
  column(ColumnId::stack).end = code;
  column(ColumnId::stack_wide).end = wide;
  std::uint8_t*& kinds = column(ColumnId::kind).end;
  std::memcpy(kinds, batch.kind.data(), batch.count());
  kinds += batch.count();
}

void EventEncoder::State::encode_made_sizes(const EventBatch& batch) {
  std::uint8_t* size_code = column(ColumnId::size).end;
  std::uint8_t* usable_code = column(ColumnId::usable).end;
  std::uint8_t* size_wide = column(ColumnId::size_wide).end;
  std::uint8_t* usable_wide = column(ColumnId::usable_wide).end;
  for (std::size_t i = 0; i < batch.count(); ++i) {
    if (is_reference(batch.kind[i])) continue;
    const auto codes = sizes.encode(batch.stack[i], {batch.size[i], batch.usable[i]}, size_wide, usable_wide);
    *size_code++ = codes.size;
    *usable_code++ = codes.usable;
  }
  column(ColumnId::size).end = size_code;
  column(ColumnId::usable).end = usable_code;
  column(ColumnId::size_wide).end = size_wide;
  column(ColumnId::usable_wide).end = usable_wide;
}

// Releases state what the block's own event says, or nothing.
void EventEncoder::State::encode_stated_sizes(const EventBatch& batch) {
  for (std::size_t i = 0; i < batch.count(); ++i) {
    if (!is_reference(batch.kind[i])) continue;
    const BlockIndex block = referred[i];
    const std::uint64_t size = block == no_block || !has_stated_size(batch.kind[i]) ? 0 : batch.size[block];
    put_signed(ColumnId::stated_size, static_cast<std::int64_t>(batch.size[i] - size));
    put_wide(ColumnId::stated_usable, batch.usable[i]);
  }
}

void EventEncoder::State::encode_addresses(const EventBatch& batch) {
  for (std::size_t i = 0; i < batch.count(); ++i) {
    const auto at = static_cast<BlockIndex>(i);
    const EventKind kind = batch.kind[i];
    if (is_reference(kind)) {
      referred[i] = encode_reference(at, batch.address[i], !keeps_block(kind));
      continue;
    }
    const BlockIndex old_block =
        has_old_address(kind) ? encode_reference(at, batch.old_address[i], true) : no_block;
    encode_made(batch, at, old_block);
  }
}

std::uint8_t EventEncoder::State::code_of_living(BlockIndex at, BlockIndex block) noexcept {
  using namespace reference_code;
  if (addresses.newest() == block) return 0;
  if (addresses.cursor_newer() == block) return newer;
  if (addresses.cursor_older() == block) return older;
  BlockIndex candidate = addresses.newest();
  for (std::uint8_t rank = 1; rank < ranks && candidate != no_block; ++rank) {
    candidate = addresses.made_before(candidate);
    if (candidate == block) return rank;
  }
  const std::uint32_t distance = static_cast<std::uint32_t>(at) - block;
  if (distance < near_limit) return static_cast<std::uint8_t>(first_near + distance);
  put_wide(ColumnId::reference_wide, distance);
  return far;
}

BlockIndex EventEncoder::State::encode_reference(BlockIndex at, std::uint64_t address, bool is_gone) {
  using namespace reference_code;
  if (address == 0) {
    put(ColumnId::reference, null);
    return no_block;
  }
  const BlockIndex block = living.find(address);
  if (block == no_block) {
    const std::uint64_t delta = address - addresses.last_elsewhere;
    addresses.last_elsewhere = address;
    const bool is_aligned = (delta & 15U) == 0;
    put(ColumnId::reference, is_aligned ? elsewhere : elsewhere_exact);
    const auto distance = static_cast<std::int64_t>(delta);
    put_signed(ColumnId::reference_wide, is_aligned ? distance >> 4U : distance);
    return no_block;
  }
  put(ColumnId::reference, code_of_living(at, block));
  if (is_gone) {
    addresses.gone(block);
    living.erase(block);
  }
  return block;
}

void EventEncoder::State::encode_made(const EventBatch& batch, BlockIndex at, BlockIndex old_block) {
  using namespace made_code;
  const std::uint64_t address = batch.address[at];
  const std::uint64_t usable = batch.usable[at];
  if (address == 0) return put(ColumnId::made_address, null);
  const auto block_class = AddressPredictor::class_of(usable);
  const auto finish = [&](std::uint8_t code) {
    put(ColumnId::made_address, code);
    addresses.made(at, block_class);
    living.insert(at);
  };
  if (has_old_address(batch.kind[at]) && address == batch.old_address[at]) {
    if (old_block != no_block) addresses.forget_block(old_block);
    return finish(in_place);
  }
  BlockIndex candidate = addresses.released(block_class);
  for (std::uint8_t rank = 0; rank < ranks && candidate != no_block; ++rank) {
    if (batch.address[candidate] == address) {
      addresses.reuse(block_class, rank);
      return finish(rank);
    }
    candidate = addresses.released_before(candidate);
  }
  addresses.forget(block_class);
  const std::uint64_t difference = address - addresses.fresh();
  const bool is_sequel = address == addresses.sequel();
  addresses.made_fresh(address, usable);
  if (is_sequel) return finish(sequel);
  const auto distance = static_cast<std::int64_t>(difference);
  if ((difference & 15U) != 0) {
    put_signed(ColumnId::made_address_wide, distance);
    return finish(delta_exact);
  }
  const std::uint64_t folded = base::zigzag_encode(distance >> 4U);
  if (folded < near_limit) return finish(static_cast<std::uint8_t>(first_near + folded));
  put_wide(ColumnId::made_address_wide, folded);
  finish(delta);
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
  state_->encode_stated_sizes(batch);
  state_->pack(out);
  return times;
}

}  // namespace heapwright::trace
