// SPDX-License-Identifier: MIT
// length: one pass over a chunk, with inlined steps
#include "analyze/prepare.hpp"

#include <algorithm>
#include <array>

#include "trace/column.hpp"

namespace heapwright::analyze {
namespace {

using trace::EventKind;

// The flags of the one row that most calls have; zero for other calls.
enum RowOfKind : std::uint8_t { is_release = 1, is_allocation = 2, states_size = row_size_stated };

constexpr auto row_of_kind = [] {
  std::array<std::uint8_t, 256> rows{};
  for (std::size_t value = 0; value < rows.size(); ++value) {
    const auto kind = static_cast<EventKind>(value);
    if (trace::is_release(kind)) {
      rows[value] = trace::has_stated_size(kind) ? is_release | states_size : is_release;
    } else if (trace::is_allocation(kind) && !trace::is_realloc(kind)) {
      rows[value] = is_allocation;
    }
  }
  return rows;
}();
static_assert((row_size_stated & (is_release | is_allocation)) == 0);

// Rows of a used piece are in another core's cache; getting them back takes as long as making this many rows.
constexpr std::ptrdiff_t rows_ahead = 32;

}  // namespace

void SkippedChunks::add(const trace::EventChunk& chunk, const char* what) {
  const std::lock_guard lock(mutex_);
  damage_.push_back({chunk.file_offset, what});
  events_ += chunk.count;
}

Preparer::Preparer(const order::Source& source, const Scope& scope, std::uint32_t slice_events,
                   SkippedChunks& skipped)
    : scope_(scope),
      skipped_(skipped),
      slice_events_(slice_events),
      decoder_(source.make_decoder()),
      calls_(scope),
      keeps_pages_(!source.scans().empty()) {}

void Preparer::prepare(const order::ScheduledChunk& job, std::uint32_t first_event, Piece& piece) {
  job_ = &job;
  thread_ = job.chunk->thread;
  piece_ = &piece;
  try {
    decoder_->decode(*job.chunk, batch_);
  } catch (const trace::TraceError& error) {
    // Decoding is deterministic, so this is the chunk's first slice: nothing of it has been counted.
    skipped_.add(*job.chunk, error.what());
    piece.close(piece.open(0), job.chunk->count);
    return;
  }
  const auto count = batch_.count();
  const auto from = std::min<std::size_t>(first_event, count);
  const auto to = count - from > slice_events_ ? from + slice_events_ : count;
  next_row_ = piece.open((to - from) * 2);
  note_events(from);
  if (scope_.follows_blocks()) {
    add_slice<true>(from, to);
  } else {
    add_slice<false>(from, to);
  }
  piece.close(next_row_, to == count ? job.chunk->count : static_cast<std::uint32_t>(to));
}

void Preparer::note_events(std::size_t from) {
  noted_.clear();
  next_noted_ = 0;
  auto kernel = batch_.kernel.begin();
  while (kernel != batch_.kernel.end() && kernel->event < from) {
    ++kernel;
  }
  for (std::size_t index = from; index < batch_.count(); ++index) {
    const bool has_work = kernel != batch_.kernel.end() && kernel->event == index;
    if (has_work) {
      noted_.push_back(*kernel++);
    } else if (batch_.duration_ns[index] >= slow_from_ns) {
      noted_.push_back({static_cast<std::uint32_t>(index), {}});
    }
  }
}

// Notes a call for HeapModel: its last row, which has its duration. A call without a row is handled here.
// Returns the next event of this kind.
template <bool is_counted>
[[gnu::noinline]] std::size_t Preparer::note(std::size_t index, const Row* first, const Row* end,
                                             CallSums& sums) {
  const auto& work = noted_[next_noted_++].work;
  const auto next = next_noted_ < noted_.size() ? noted_[next_noted_].event : SIZE_MAX;
  const auto kind = batch_.kind[index];
  const auto size = batch_.size[index];
  const auto stack = batch_.stack[index];
  const auto duration_ns = batch_.duration_ns[index];
  const bool has_row = end != first && (end[-1].flags & row_is_mapping) == 0;
  if (!is_counted || (!has_row && !scope_.is_chosen(job_->lane, size, stack))) {
    return next;
  }
  const bool is_paired_release = has_row && (end[-1].flags & row_acquires) == 0;
  if (!is_paired_release && (!has_row || (end[-1].flags & row_not_chosen) == 0)) {
    sums.allocator_ns -= work.off_processor_ns(duration_ns) * scope_.weight.unit();
  }
  if (has_row) {
    piece_->noted.push_back({static_cast<std::size_t>(end - 1 - piece_->rows()), work});
  } else {
    calls_.causes().add({{batch_.begin_ns[index], duration_ns, kind, thread_, stack, size},
                         work,
                         0,
                         false,
                         trace::is_allocation(kind)},
                        {});
  }
  return next;
}

// Events before the window only make blocks live or dead; events within it are processed by steps of the
// timeline; events after it are ignored.
template <bool follows_blocks>
void Preparer::add_slice(std::size_t from, std::size_t to) {
  const auto begin = batch_.begin_ns.begin();
  const auto first_from = [&](std::size_t index, std::uint64_t time_ns) {
    const auto found = std::lower_bound(begin + static_cast<std::ptrdiff_t>(index),
                                        begin + static_cast<std::ptrdiff_t>(to), time_ns);
    return static_cast<std::size_t>(found - begin);
  };
  auto index = first_from(from, scope_.from_ns);
  const auto last = first_from(index, scope_.to_ns);
  add_events<false, follows_blocks>(from, index);
  while (index < last) {
    const auto step = scope_.steps.step_of(batch_.begin_ns[index]);
    auto step_to = last;
    if (step + 1 < scope_.steps.points()) {
      step_to = std::clamp(first_from(index, scope_.steps.end_of(step)), index + 1, last);
    }
    add_events<true, follows_blocks>(index, step_to);
    index = step_to;
  }
}

template <bool is_counted, bool follows_blocks>
void Preparer::add_events(std::size_t from, std::size_t to) {
  const Columns columns(batch_);
  CallSums sums;
  Row* row = next_row_;
  while (next_noted_ < noted_.size() && noted_[next_noted_].event < from) {
    ++next_noted_;
  }
  std::size_t next_noted = next_noted_ < noted_.size() ? noted_[next_noted_].event : SIZE_MAX;
  for (auto index = from; index < to; ++index) {
    __builtin_prefetch(row + rows_ahead, 1);
    const auto flags = row_of_kind[static_cast<std::size_t>(columns.kind[index])];
    const bool has_block = columns.address[index] != 0;
    const Row* const first = row;
    if (has_block && (flags & is_release) != 0) {
      put_release(columns, index, flags & states_size, *row++);
    } else if (has_block && (flags & is_allocation) != 0) {
      add_block<is_counted, follows_blocks>(columns, index, *row++, sums);
    } else {
      row = add_rare<is_counted, follows_blocks>(columns, index, row, sums);
    }
    if (index == next_noted) [[unlikely]] {
      next_noted = note<is_counted>(index, first, row, sums);
    }
  }
  next_row_ = row;
  if (is_counted && from < to) {
    calls_.add_sums(job_->lane, batch_.begin_ns[from], sums);
  }
}

void Preparer::put_wide(Row& row, std::uint64_t size, std::uint64_t excess, std::uint64_t weight) {
  row.size = static_cast<std::uint32_t>(piece_->wide.size());
  row.excess = 0;
  row.flags |= row_is_wide;
  piece_->wide.push_back({size, excess, weight});
}

template <bool is_counted, bool follows_blocks>
[[gnu::always_inline]] inline void Preparer::add_block(const Columns& columns, std::size_t index, Row& row,
                                                       CallSums& sums) {
  const auto kind = columns.kind[index];
  const auto size = columns.size[index];
  const auto duration_ns = columns.duration_ns[index];
  const auto stack = columns.stack[index];
  const auto usable = columns.usable[index];
  const auto excess = usable > size ? usable - size : 0;
  bool is_chosen = true;
  std::uint64_t weight = 1;
  if constexpr (follows_blocks) {
    is_chosen = scope_.is_chosen(job_->lane, size, stack);
    weight = scope_.weight.of(size);
  }
  row.address = columns.address[index];
  row.time_ns = columns.begin_ns[index] + duration_ns;
  row.size = static_cast<std::uint32_t>(size);
  row.stack = stack;
  row.duration_ns = duration_ns;
  row.excess = static_cast<std::uint16_t>(excess);
  row.kind = kind;
  row.flags = static_cast<std::uint8_t>(row_acquires | (is_chosen ? 0 : row_not_chosen));
  if (keeps_pages_) mark_pages(row.address, size, size + excess);
  const auto signature = signature_of(kind, size, excess, weight);
  if (signature == 0) [[unlikely]] {
    put_wide(row, size, excess, weight);
  }
  if (is_counted && is_chosen) {
    if (signature != 0) [[likely]] {
      calls_.add_block(signature, stack, duration_ns);
    } else {
      calls_.add_single_block(kind, stack,
                              {weight, size, excess, duration_ns * weight, duration_ns,
                               trace::is_realloc(kind), trace::is_operator_new(kind)},
                              duration_ns);
    }
    if (follows_blocks && scope_.weight.is_sampled()) {
      calls_.add_spread(job_->lane, columns.begin_ns[index], stack, size, excess);
    }
    sums.allocations += weight;
    sums.requested_bytes += size * weight;
    sums.allocator_ns += duration_ns * weight;
    if (calls_.slowest().is_candidate(duration_ns)) [[unlikely]] {
      calls_.slowest().add({columns.begin_ns[index], duration_ns, kind, thread_, stack, size});
    }
  }
}

[[gnu::always_inline]] inline void Preparer::put_release(const Columns& columns, std::size_t index, int flags,
                                                         Row& row) {
  const auto size = columns.size[index];
  row.address = columns.address[index];
  row.time_ns = columns.begin_ns[index];
  row.size = static_cast<std::uint32_t>(size);
  row.stack = columns.stack[index];
  row.duration_ns = columns.duration_ns[index];
  row.excess = 0;
  row.kind = columns.kind[index];
  row.flags = static_cast<std::uint8_t>(flags);
  if (size > UINT32_MAX) [[unlikely]] {
    put_wide(row, size, 0, 1);
  }
}

// Reallocs, failures, free(NULL) and calls that do not concern blocks.
template <bool is_counted, bool follows_blocks>
[[gnu::noinline]] Row* Preparer::add_rare(const Columns& columns, std::size_t index, Row* row,
                                          CallSums& sums) {
  const auto kind = columns.kind[index];
  if (trace::is_realloc(kind)) {
    const bool has_old = put_realloc_release(index, *row);
    row += has_old ? 1 : 0;
    if (columns.address[index] != 0) {
      add_block<is_counted, follows_blocks>(columns, index, *row, sums);
      row->flags |= has_old ? row_in_realloc : 0;
      return row + 1;
    }
  }
  const bool is_chosen =
      !follows_blocks || scope_.is_chosen(job_->lane, columns.size[index], columns.stack[index]);
  row += put_mapping(index, is_chosen, *row) ? 1 : 0;
  if (kind == EventKind::mallopt_) add_option(index);
  if constexpr (is_counted) {
    if (trace::is_release(kind)) {
      add_null_free(index, sums);
    } else if (trace::is_allocation(kind)) {
      const bool is_free =
          trace::is_realloc(kind) && batch_.old_address[index] != 0 && batch_.size[index] == 0;
      sums.failed += add_without_block(index, 0, sums) && !is_free ? 1 : 0;
    } else {
      add_other(index, sums);
    }
  }
  return row;
}

void Preparer::add_null_free(std::size_t index, CallSums& sums) {
  if (scope_.chooses_by_block() || !scope_.is_lane_chosen(job_->lane)) {
    return;
  }
  ++sums.null_frees;
  sums.allocator_ns += batch_.duration_ns[index] * scope_.weight.unit();
  calls_.add_other(batch_.kind[index], batch_.duration_ns[index], 0);
}

// The old side of a realloc that released its block: it moved the block, or freed it (size 0). False if there
// is none.
bool Preparer::put_realloc_release(std::size_t index, Row& row) {
  const auto old_address = batch_.old_address[index];
  const bool is_free = batch_.address[index] == 0;
  if (old_address == 0 || (is_free && batch_.size[index] != 0)) {
    return false;
  }
  row = Row{};
  row.address = old_address;
  row.time_ns = batch_.begin_ns[index];
  row.stack = batch_.stack[index];
  row.duration_ns = is_free ? batch_.duration_ns[index] : 0;
  row.kind = batch_.kind[index];
  row.flags = is_free ? 0 : row_in_realloc;
  return true;
}

// The row of a mapping that was made, moved or ended, or of a malloc_trim; false if there is none.
bool Preparer::put_mapping(std::size_t index, bool is_chosen, Row& row) {
  const auto kind = batch_.kind[index];
  const auto address = batch_.address[index];
  const bool is_trim = kind == EventKind::malloc_trim_;
  if (!is_trim && ((!trace::changes_mappings(kind) && kind != EventKind::sbrk_) || address == 0)) {
    return false;
  }
  row = Row{};
  row.address = address | 1;
  row.time_ns = batch_.begin_ns[index] + (kind == EventKind::munmap_ ? 0 : batch_.duration_ns[index]);
  row.size = static_cast<std::uint32_t>(piece_->mappings.size());
  row.stack = batch_.stack[index];
  row.kind = kind;
  row.flags = static_cast<std::uint8_t>(row_is_mapping | (is_chosen ? 0 : row_not_chosen));
  if (is_trim) {
    piece_->mappings.emplace_back();
  } else {
    piece_->mappings.push_back(
        {address, batch_.size[index], batch_.old_address[index], batch_.usable[index]});
  }
  return true;
}

void Preparer::add_option(std::size_t index) {
  calls_.add_option({static_cast<std::uint32_t>(batch_.size[index]),
                     static_cast<std::uint32_t>(batch_.address[index]), batch_.begin_ns[index]});
}

void Preparer::add_other(std::size_t index, CallSums& sums) {
  const auto kind = batch_.kind[index];
  add_without_block(index, trace::changes_mappings(kind) ? batch_.size[index] : 0, sums);
}

// Failed allocations and calls that do not concern blocks. False if filtered out.
bool Preparer::add_without_block(std::size_t index, std::uint64_t bytes, CallSums& sums) {
  const auto kind = batch_.kind[index];
  const auto duration_ns = batch_.duration_ns[index];
  const auto stack = batch_.stack[index];
  if (scope_.follows_blocks() && !scope_.is_chosen(job_->lane, batch_.size[index], stack)) {
    return false;
  }
  calls_.add_other(kind, duration_ns, bytes);
  calls_.add_mapping(kind, batch_.address[index] != 0 ? bytes : 0);
  sums.allocator_ns += duration_ns * scope_.weight.unit();
  if (calls_.slowest().is_candidate(duration_ns)) {
    calls_.slowest().add({batch_.begin_ns[index], duration_ns, kind, thread_, stack, batch_.size[index]});
  }
  return true;
}

}  // namespace heapwright::analyze
