// SPDX-License-Identifier: MIT
#include "trace/decode_events.hpp"

#include <algorithm>
#include <cstring>

#include "trace/format.hpp"
#include "trace/reader.hpp"

namespace heapwright::trace {

namespace {

[[noreturn]] void fail(const char* what) { throw TraceError(what); }

void require_whole(const base::ByteSource& source) {
  if (source.has_failed() || source.remaining() != 0) fail("a column does not hold what its codes ask for");
}

// Larger steps would let begin times wrap around instead of rising.
std::uint64_t max_step(std::uint64_t begin_ns) noexcept {
  return begin_ns > max_time_ns ? 0 : (max_time_ns - begin_ns) / time_quantum_ns;
}

}  // namespace

std::uint64_t EventDecoder::decode(Bytes payload, std::size_t count, std::uint64_t first_begin_ns,
                                   std::size_t stacks, EventBatch& batch) {
  if (count > max_events_per_chunk || first_begin_ns > max_time_ns) fail("the chunk's header is impossible");
  unpack_columns(payload, count);
  batch.resize(count);
  decode_kinds(batch);
  const std::uint64_t last_end_ns = decode_times(first_begin_ns, batch);
  decode_stacks(stacks, batch);
  decode_made_sizes(batch);
  decode_addresses(batch);
  decode_stated_sizes(batch);
  return last_end_ns;
}

void EventDecoder::unpack_columns(Bytes payload, std::size_t count) {
  columns_.fill({});
  base::ByteSource source(payload.data(), payload.size());
  const std::size_t stored = source.byte();
  for (std::size_t i = 0; i < stored; ++i) {
    const std::size_t id = source.byte();
    const bool is_known = id > 0 && id < column_limit;
    if (is_known && columns_[id].data() != nullptr) fail("a column is there twice");
    const Bytes bytes = unpacker_.unpack(source, count * base::max_varint_bytes, is_known ? memory_[id] : skipped_);
    if (is_known) columns_[id] = bytes;
  }
  if (source.has_failed() || source.remaining() != 0) fail("the payload does not end where its columns end");
}

const std::uint8_t* EventDecoder::codes(ColumnId id, std::size_t bytes) {
  const Bytes column = columns_[static_cast<std::size_t>(id)];
  if (column.data() == nullptr) return zeros_.data();
  if (column.size() != bytes) fail("a column has the wrong length");
  return column.data();
}

base::ByteSource EventDecoder::wide(ColumnId id) const {
  const Bytes column = columns_[static_cast<std::size_t>(id)];
  return {column.data(), column.size()};
}

void EventDecoder::decode_kinds(EventBatch& batch) {
  const std::size_t count = batch.count();
  const std::uint8_t* kinds = codes(ColumnId::kind, count);
  references_ = made_ = aligned_ = 0;
  std::uint8_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto kind = static_cast<EventKind>(kinds[i]);
    batch.kind[i] = kind;
    largest = std::max(largest, kinds[i]);
    const bool refers = is_reference(kind);
    references_ += static_cast<std::size_t>(refers || has_old_address(kind));
    made_ += static_cast<std::size_t>(!refers);
    aligned_ += static_cast<std::size_t>(has_alignment(kind));
  }
  if (largest >= event_kind_limit) fail("an event has an unknown kind; read the trace with a newer heapwright");
  const std::uint8_t* alignment = codes(ColumnId::alignment, aligned_);
  std::fill(batch.alignment_log2.begin(), batch.alignment_log2.end(), std::uint8_t{0});
  for (std::size_t i = 0; aligned_ > 0 && i < count; ++i) {
    if (has_alignment(batch.kind[i])) batch.alignment_log2[i] = *alignment++;
  }
}

std::uint64_t EventDecoder::decode_times(std::uint64_t first_begin_ns, EventBatch& batch) {
  const std::size_t count = batch.count();
  const std::uint8_t* begins = codes(ColumnId::begin, count);
  const std::uint8_t* durations = codes(ColumnId::duration, count);
  base::ByteSource begin_wide = wide(ColumnId::begin_wide);
  base::ByteSource duration_wide = wide(ColumnId::duration_wide);
  std::uint64_t begin_ns = first_begin_ns;
  std::uint64_t last_end_ns = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t step = begins[i];
    if (step == code_wide) [[unlikely]] {
      step += begin_wide.varint();
      if (step > max_step(begin_ns)) fail("a begin time is impossible");
    }
    std::uint64_t duration = durations[i];
    if (duration == code_wide) [[unlikely]] duration += duration_wide.varint();
    if (duration > UINT32_MAX / duration_quantum_ns) [[unlikely]] fail("a duration is impossible");
    begin_ns += step * time_quantum_ns;
    batch.begin_ns[i] = begin_ns;
    batch.duration_ns[i] = static_cast<std::uint32_t>(duration * duration_quantum_ns);
    last_end_ns = std::max(last_end_ns, begin_ns + duration * duration_quantum_ns);
  }
  require_whole(begin_wide);
  require_whole(duration_wide);
  return last_end_ns;
}

void EventDecoder::decode_stacks(std::size_t stacks, EventBatch& batch) {
  const std::size_t count = batch.count();
  const std::uint8_t* code = codes(ColumnId::stack, count);
  base::ByteSource wide_stacks = wide(ColumnId::stack_wide);
  stacks_.reset();
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t stack = stacks_.decode(batch.kind[i], code[i], wide_stacks);
    batch.stack[i] = stack;
    largest = std::max(largest, stack);
  }
  require_whole(wide_stacks);
  if (largest != 0 && largest >= stacks) fail("an event refers to a call stack that is not in the trace");
}

void EventDecoder::decode_made_sizes(EventBatch& batch) {
  const std::uint8_t* size_code = codes(ColumnId::size, made_);
  const std::uint8_t* usable_code = codes(ColumnId::usable, made_);
  base::ByteSource size_wide = wide(ColumnId::size_wide);
  base::ByteSource usable_wide = wide(ColumnId::usable_wide);
  sizes_.reset();
  usables_.reset();
  for (std::size_t i = 0; i < batch.count(); ++i) {
    if (is_reference(batch.kind[i])) continue;
    const std::uint64_t size = sizes_.decode(batch.stack[i], *size_code++, size_wide);
    batch.size[i] = size;
    batch.usable[i] = usables_.decode(size, *usable_code++, usable_wide);
  }
  require_whole(size_wide);
  require_whole(usable_wide);
}

void EventDecoder::decode_addresses(EventBatch& batch) {
  const std::uint8_t* reference = codes(ColumnId::reference, references_);
  const std::uint8_t* made = codes(ColumnId::made_address, made_);
  reference_wide_ = wide(ColumnId::reference_wide);
  made_wide_ = wide(ColumnId::made_address_wide);
  addresses_.reset();
  for (std::size_t i = 0; i < batch.count(); ++i) {
    const auto at = static_cast<BlockIndex>(i);
    const EventKind kind = batch.kind[i];
    batch.old_address[i] = 0;
    if (is_reference(kind)) {
      batch.address[i] = decode_reference(*reference++, at, !keeps_block(kind), batch);
      continue;
    }
    if (has_old_address(kind)) batch.old_address[i] = decode_reference(*reference++, at, true, batch);
    batch.address[i] = decode_made(*made++, at, batch);
  }
  require_whole(reference_wide_);
  require_whole(made_wide_);
}

// A damaged chunk may name any index; only blocks made before `at` exist.
BlockIndex EventDecoder::living_block(std::uint8_t code, BlockIndex at) {
  using namespace reference_code;
  std::uint64_t block = 0;
  if (code < ranks) {
    block = addresses_.living(code);
  } else if (code == newer) {
    block = addresses_.cursor_newer();
  } else if (code == older) {
    block = addresses_.cursor_older();
  } else {
    const std::uint64_t distance = code == far ? reference_wide_.varint() : std::uint64_t{code} - first_near;
    block = distance <= at ? at - distance : no_block;
  }
  if (block >= at) fail("an event refers to a block that is not there");
  return static_cast<BlockIndex>(block);
}

std::uint64_t EventDecoder::decode_reference(std::uint8_t code, BlockIndex at, bool is_gone, EventBatch& batch) {
  using namespace reference_code;
  referred_[at] = no_block;
  if (code == null) return 0;
  if (code == elsewhere || code == elsewhere_exact) {
    const auto distance = static_cast<std::uint64_t>(reference_wide_.signed_varint());
    addresses_.last_elsewhere += code == elsewhere ? distance << 4U : distance;
    return addresses_.last_elsewhere;
  }
  const BlockIndex block = living_block(code, at);
  referred_[at] = block;
  if (is_gone) addresses_.gone(block, batch.usable[block]);
  return batch.address[block];
}

std::uint64_t EventDecoder::decode_made(std::uint8_t code, BlockIndex at, EventBatch& batch) {
  using namespace made_code;
  const std::uint64_t usable = batch.usable[at];
  if (code == null) return 0;
  std::uint64_t address = 0;
  if (code < ranks) {
    const BlockIndex block = addresses_.reuse(usable, code);
    if (block >= at) fail("an event reuses a block that is not there");
    address = batch.address[block];
  } else if (code == in_place) {
    const bool has_block = has_old_address(batch.kind[at]) && referred_[at] != no_block;
    if (has_block) addresses_.forget(batch.usable[referred_[at]]);
    address = batch.old_address[at];
  } else {
    addresses_.forget(usable);
    if (code == sequel) {
      address = addresses_.sequel();
    } else if (code == delta_exact) {
      address = addresses_.fresh() + static_cast<std::uint64_t>(made_wide_.signed_varint());
    } else {
      const std::uint64_t folded = code == delta ? made_wide_.varint() : std::uint64_t{code} - first_near;
      address = addresses_.fresh() + (static_cast<std::uint64_t>(base::zigzag_decode(folded)) << 4U);
    }
    addresses_.made_fresh(address, usable);
  }
  addresses_.made(at);
  return address;
}

void EventDecoder::decode_stated_sizes(EventBatch& batch) {
  const bool is_absent = columns_[static_cast<std::size_t>(ColumnId::stated_size)].empty();
  const bool is_usable_absent = columns_[static_cast<std::size_t>(ColumnId::stated_usable)].empty();
  base::ByteSource size = wide(ColumnId::stated_size);
  base::ByteSource usable = wide(ColumnId::stated_usable);
  for (std::size_t i = 0; i < batch.count(); ++i) {
    const EventKind kind = batch.kind[i];
    if (!is_reference(kind)) continue;
    const BlockIndex block = referred_[i];
    const std::uint64_t expected = block == no_block || !has_stated_size(kind) ? 0 : batch.size[block];
    batch.size[i] = expected + (is_absent ? 0 : static_cast<std::uint64_t>(size.signed_varint()));
    batch.usable[i] = is_usable_absent ? 0 : usable.varint();
  }
  require_whole(size);
  require_whole(usable);
}

}  // namespace heapwright::trace
