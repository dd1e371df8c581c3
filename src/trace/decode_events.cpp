// SPDX-License-Identifier: MIT
// length: one decoder for every column; splitting it would spread the predictors
#include "trace/decode_events.hpp"

#include <algorithm>
#include <cstring>

#include "trace/damage.hpp"
#include "trace/format.hpp"
#include "trace/kernel_column.hpp"

namespace heapwright::trace {

namespace {

[[noreturn]] void fail(const char* what) { throw TraceError(what); }

void require_whole(const base::ByteSource& source) {
  if (source.has_failed() || source.remaining() != 0) fail("a column's length does not match its codes");
}

// How many entries an event of each kind has in the columns that not every event has: four counters of 16
// bits, so that one addition updates all.
struct KindEntries {
  static constexpr unsigned made = 0;
  static constexpr unsigned references = 16;
  static constexpr unsigned aligned = 32;
  static constexpr unsigned stated = 48;
  std::array<std::uint64_t, 256> of_kind{};

  constexpr KindEntries() {
    for (std::size_t value = 0; value < of_kind.size(); ++value) {
      const auto kind = static_cast<EventKind>(value);
      const bool refers = is_reference(kind);
      of_kind[value] = (std::uint64_t{!refers} << made) |
                       (std::uint64_t{refers || has_old_address(kind)} << references) |
                       (std::uint64_t{has_alignment(kind)} << aligned) |
                       (std::uint64_t{refers && has_stated_size(kind)} << stated);
    }
  }
};
constexpr KindEntries kind_entries;
static_assert(max_events_per_chunk < 1U << 16U);

// Larger steps would make begin times wrap around.
std::uint64_t max_step(std::uint64_t begin_ns) noexcept {
  return begin_ns > max_time_ns ? 0 : (max_time_ns - begin_ns) / time_quantum_ns;
}

constexpr std::size_t max_entry_bytes(std::size_t column) noexcept {
  return column == static_cast<std::size_t>(ColumnId::kernel) ? max_kernel_entry_bytes
                                                              : base::max_varint_bytes;
}

// In the order of EventDecoder::WideColumn.
constexpr std::array wide_columns = {ColumnId::begin_wide,        ColumnId::stack_wide,
                                     ColumnId::size_wide,         ColumnId::usable_wide,
                                     ColumnId::made_address_wide, ColumnId::reference_wide};

}  // namespace

std::uint64_t EventDecoder::decode(Bytes payload, std::size_t count, std::uint64_t first_begin_ns,
                                   std::size_t stacks, EventBatch& batch) {
  if (count > max_events_per_chunk || first_begin_ns > max_time_ns) fail("the chunk's header is impossible");
  unpack_columns(payload, count);
  batch.resize(count);
  decode_kinds(batch);
  decode_alignments(batch);
  decode_durations(batch);
  const std::uint64_t last_end_ns = decode_calls(first_begin_ns, stacks, batch);
  decode_stated_sizes(batch);
  decode_kernel_column(wide(ColumnId::kernel), count, batch.kernel);
  return last_end_ns;
}

void EventDecoder::unpack_columns(Bytes payload, std::size_t count) {
  columns_.fill({});
  base::ByteSource source(payload.data(), payload.size());
  const std::size_t stored = source.byte();
  for (std::size_t i = 0; i < stored; ++i) {
    const std::size_t id = source.byte();
    const bool is_known = id > 0 && id < column_limit;
    if (is_known && columns_[id].data() != nullptr) fail("a column occurs twice");
    const Bytes bytes =
        unpacker_.unpack(source, count * max_entry_bytes(id), is_known ? memory_[id] : skipped_);
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
  if (count != 0) std::memcpy(batch.kind.data(), kinds, count);  // a new batch of none has no memory
  std::uint8_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, kinds[i]);
  if (largest >= event_kind_limit) {
    fail("an event has an unknown kind; read the trace with a newer heapwright");
  }
  std::uint64_t entries = 0;
  for (std::size_t i = 0; i < count; ++i) entries += kind_entries.of_kind[kinds[i]];
  const auto counter = [entries](unsigned shift) {
    return static_cast<std::size_t>((entries >> shift) & 0xffffU);
  };
  made_ = counter(KindEntries::made);
  references_ = counter(KindEntries::references);
  aligned_ = counter(KindEntries::aligned);
  stated_ = counter(KindEntries::stated);
}

void EventDecoder::decode_alignments(EventBatch& batch) {
  const std::uint8_t* alignment = codes(ColumnId::alignment, aligned_);
  std::fill(batch.alignment_log2.begin(), batch.alignment_log2.end(), std::uint8_t{0});
  for (std::size_t i = 0; aligned_ > 0 && i < batch.count(); ++i) {
    if (has_alignment(batch.kind[i])) batch.alignment_log2[i] = *alignment++;
  }
}

void EventDecoder::decode_durations(EventBatch& batch) {
  const std::size_t count = batch.count();
  const std::uint8_t* code = codes(ColumnId::duration, count);
  std::uint32_t* duration_ns = batch.duration_ns.data();
  for (std::size_t i = 0; i < count; ++i) duration_ns[i] = code[i] * duration_quantum_ns;
  base::ByteSource wide_durations = wide(ColumnId::duration_wide);
  const std::uint8_t* const end = code + count;
  for (const std::uint8_t* at = code; at != end; ++at) {
    at = static_cast<const std::uint8_t*>(std::memchr(at, code_wide, static_cast<std::size_t>(end - at)));
    if (at == nullptr) break;
    const std::uint64_t beyond = wide_durations.varint();
    if (beyond > UINT32_MAX / duration_quantum_ns - code_wide) fail("a duration is impossible");
    duration_ns[at - code] += static_cast<std::uint32_t>(beyond * duration_quantum_ns);
  }
  require_whole(wide_durations);
}

[[gnu::noinline]] std::uint64_t EventDecoder::wide_step(std::uint64_t begin_ns) {
  const std::uint64_t step = code_wide + wide_[begin_column].varint();
  if (step < code_wide || step > max_step(begin_ns)) fail("a begin time is impossible");
  return step;
}

// A damaged chunk may contain any index; only blocks allocated before `at` exist.
inline BlockIndex EventDecoder::living_block(std::uint8_t code, BlockIndex at) {
  using namespace reference_code;
  std::uint64_t block = 0;
  if (code < ranks) [[likely]] {
    BlockIndex living = addresses_.newest();
    for (unsigned rank = code; rank > 0; --rank) living = addresses_.made_before(living);
    block = living;
  } else if (code == newer) {
    block = addresses_.cursor_newer();
  } else if (code == older) {
    block = addresses_.cursor_older();
  } else {
    const std::uint64_t distance =
        code == far ? wide_[reference_column].varint() : std::uint64_t{code} - first_near;
    block = distance <= at ? at - distance : no_block;
  }
  if (block >= at) [[unlikely]] {
    fail("an event refers to a block that does not exist");
  }
  return static_cast<BlockIndex>(block);
}

// The block of a reference; no_block for null and for a block that was not allocated in this chunk, whose
// address is then in `address`.
inline BlockIndex EventDecoder::decode_reference(std::uint8_t code, BlockIndex at, std::uint64_t& address) {
  using namespace reference_code;
  if (code == null || code == elsewhere || code == elsewhere_exact) [[unlikely]] {
    address = 0;
    if (code == null) return no_block;
    const auto distance = static_cast<std::uint64_t>(wide_[reference_column].signed_varint());
    addresses_.last_elsewhere += code == elsewhere ? distance << 4U : distance;
    address = addresses_.last_elsewhere;
    return no_block;
  }
  return living_block(code, at);
}

inline std::uint64_t EventDecoder::fresh_address(std::uint8_t code) {
  using namespace made_code;
  if (code == sequel) return addresses_.sequel();
  if (code == delta_exact) {
    return addresses_.fresh() + static_cast<std::uint64_t>(wide_[made_column].signed_varint());
  }
  const std::uint64_t folded = code == delta ? wide_[made_column].varint() : std::uint64_t{code} - first_near;
  return addresses_.fresh() + (static_cast<std::uint64_t>(base::zigzag_decode(folded)) << 4U);
}

inline std::uint64_t EventDecoder::decode_made(std::uint8_t code, BlockIndex at, const Output& out) {
  using namespace made_code;
  const std::uint64_t usable = out.usable[at];
  const auto block_class = AddressPredictor::class_of(usable);
  std::uint64_t address = 0;
  if (code < ranks) [[likely]] {
    const BlockIndex block = addresses_.reuse(block_class, code);
    if (block >= at) [[unlikely]] {
      fail("an event reuses a block that does not exist");
    }
    address = out.address[block];
  } else if (code == null) {
    return 0;
  } else if (code == in_place) {
    const bool has_block = has_old_address(out.kind[at]) && referred_[at] != no_block;
    if (has_block) addresses_.forget_block(referred_[at]);
    address = out.old_address[at];
  } else {
    addresses_.forget(block_class);
    address = fresh_address(code);
    addresses_.made_fresh(address, usable);
  }
  addresses_.made(at, block_class);
  return address;
}

inline void EventDecoder::decode_old_address(std::uint8_t code, BlockIndex at, const Output& out) {
  std::uint64_t address = 0;
  const BlockIndex block = decode_reference(code, at, address);
  referred_[at] = block;
  if (block != no_block) {
    address = out.address[block];
    addresses_.gone(block);
  }
  out.old_address[at] = address;
}

inline void EventDecoder::decode_release(std::uint8_t code, BlockIndex at, const Output& out) {
  out.size[at] = out.usable[at] = 0;
  std::uint64_t address = 0;
  const BlockIndex block = decode_reference(code, at, address);
  referred_[at] = block;
  if (block != no_block) [[likely]] {
    address = out.address[block];
    if (!keeps_block(out.kind[at])) addresses_.gone(block);
  }
  out.address[at] = address;
}

// Begins, stacks, sizes and addresses in one pass: each depends on its own result for the previous event, and
// here these latencies overlap. Returns the largest begin + duration.
std::uint64_t EventDecoder::decode_calls(std::uint64_t first_begin_ns, std::size_t stacks,
                                         EventBatch& batch) {
  const std::size_t count = batch.count();
  const std::uint8_t* begin_code = codes(ColumnId::begin, count);
  const std::uint8_t* stack_code = codes(ColumnId::stack, count);
  const std::uint8_t* size_code = codes(ColumnId::size, made_);
  const std::uint8_t* usable_code = codes(ColumnId::usable, made_);
  const std::uint8_t* made = codes(ColumnId::made_address, made_);
  const std::uint8_t* reference = codes(ColumnId::reference, references_);
  for (std::size_t i = 0; i < wide_columns.size(); ++i) wide_[i] = wide(wide_columns[i]);
  base::ByteSource& stack_wide = wide_[stack_column];
  base::ByteSource& size_wide = wide_[size_column];
  base::ByteSource& usable_wide = wide_[usable_column];
  stacks_.reset();
  sizes_.reset();
  addresses_.reset();
  std::fill(batch.old_address.begin(), batch.old_address.end(), 0U);
  const Output out(batch);
  StackPredictor::Position position;
  std::uint64_t begin_ns = first_begin_ns;
  std::uint64_t last_end_ns = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<BlockIndex>(i);
    const EventKind kind = out.kind[i];
    std::uint64_t step = begin_code[i];
    if (step == code_wide) [[unlikely]] {
      step = wide_step(begin_ns);
    }
    begin_ns += step * time_quantum_ns;
    out.begin_ns[i] = begin_ns;
    last_end_ns = std::max(last_end_ns, begin_ns + out.duration_ns[i]);
    const std::uint32_t stack = stacks_.decode(kind, stack_code[i], position, stack_wide);
    out.stack[i] = stack;
    const std::uint64_t entries = kind_entries.of_kind[static_cast<std::size_t>(kind)];
    if ((entries >> KindEntries::made & 1U) == 0) {
      decode_release(*reference++, at, out);
      continue;
    }
    const auto sizes = sizes_.decode(stack, {*size_code++, *usable_code++}, size_wide, usable_wide);
    out.size[i] = sizes.size;
    out.usable[i] = sizes.usable;
    if ((entries >> KindEntries::references & 1U) != 0) [[unlikely]] {
      decode_old_address(*reference++, at, out);
    }
    out.address[i] = decode_made(*made++, at, out);
  }
  for (const base::ByteSource& source : wide_) require_whole(source);
  if (position.largest != 0 && position.largest >= stacks) {
    fail("an event refers to a call stack that does not exist");
  }
  return last_end_ns;
}

// Usually no size was stated, and there is nothing to decode.
void EventDecoder::decode_stated_sizes(EventBatch& batch) {
  const bool is_size_absent = columns_[static_cast<std::size_t>(ColumnId::stated_size)].data() == nullptr;
  const bool is_usable_absent = columns_[static_cast<std::size_t>(ColumnId::stated_usable)].data() == nullptr;
  if (is_size_absent && is_usable_absent && stated_ == 0) return;
  base::ByteSource size = wide(ColumnId::stated_size);
  base::ByteSource usable = wide(ColumnId::stated_usable);
  for (std::size_t i = 0; i < batch.count(); ++i) {
    const EventKind kind = batch.kind[i];
    if (!is_reference(kind)) continue;
    const BlockIndex block = referred_[i];
    const std::uint64_t expected = block == no_block || !has_stated_size(kind) ? 0 : batch.size[block];
    batch.size[i] = expected + (is_size_absent ? 0 : static_cast<std::uint64_t>(size.signed_varint()));
    batch.usable[i] = is_usable_absent ? 0 : usable.varint();
  }
  require_whole(size);
  require_whole(usable);
}

}  // namespace heapwright::trace
