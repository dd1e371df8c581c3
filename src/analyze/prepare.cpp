// SPDX-License-Identifier: MIT
#include "analyze/prepare.hpp"

#include <algorithm>
#include <array>

namespace heapwright::analyze {
namespace {

using trace::EventKind;

enum class CallClass : std::uint8_t { other, allocation, realloc, release, sized_release };

constexpr bool states_size(EventKind kind) {
  switch (kind) {
    case EventKind::free_sized_:
    case EventKind::free_aligned_sized_:
    case EventKind::delete_sized:
    case EventKind::delete_array_sized:
    case EventKind::delete_sized_aligned:
    case EventKind::delete_array_sized_aligned:
      return true;
    default:
      return false;
  }
}

constexpr auto make_classes() {
  std::array<CallClass, 256> classes{};
  for (std::size_t index = 0; index < classes.size(); ++index) {
    const auto kind = static_cast<EventKind>(index);
    if (trace::is_realloc(kind)) {
      classes[index] = CallClass::realloc;
    } else if (trace::is_allocation(kind)) {
      classes[index] = CallClass::allocation;
    } else if (trace::is_release(kind)) {
      classes[index] = states_size(kind) ? CallClass::sized_release : CallClass::release;
    }
  }
  return classes;
}

constexpr auto call_classes = make_classes();

constexpr CallClass class_of(EventKind kind) {
  return call_classes[static_cast<std::uint8_t>(kind)];
}

}  // namespace

void SkippedChunks::add(const trace::EventChunk& chunk, const char* what) {
  const std::lock_guard lock(mutex_);
  damage_.push_back({chunk.file_offset, what});
  events_ += chunk.count;
}

Preparer::Preparer(const Source& source, const Scope& scope, std::uint32_t slice_events, SkippedChunks& skipped)
    : scope_(scope), skipped_(skipped), slice_events_(slice_events), decoder_(source.make_decoder()), calls_(scope) {}

void Preparer::prepare(const ScheduledChunk& job, std::uint32_t first_event, Piece& piece) {
  job_ = &job;
  thread_ = job.chunk->thread;
  piece_ = &piece;
  try {
    decoder_->decode(*job.chunk, batch_);
  } catch (const trace::TraceError& error) {
    // A chunk that can be decoded once can be decoded again, so this is its
    // first slice: nothing of it has been counted.
    skipped_.add(*job.chunk, error.what());
    piece.close(piece.open(0), job.chunk->count);
    return;
  }
  const auto count = batch_.count();
  const auto from = std::min<std::size_t>(first_event, count);
  const auto to = count - from > slice_events_ ? from + slice_events_ : count;
  next_row_ = piece.open((to - from) * 2);
  if (scope_.follows_blocks()) {
    add_slice<true>(from, to);
  } else {
    add_slice<false>(from, to);
  }
  piece.close(next_row_, to == count ? job.chunk->count : static_cast<std::uint32_t>(to));
}

// Events before the window only make blocks live or dead; events within it
// go step by step of the timeline; events after it do not exist.
template <bool follows_blocks>
void Preparer::add_slice(std::size_t from, std::size_t to) {
  const auto begin = batch_.begin_ns.begin();
  const auto first_from = [&](std::size_t index, std::uint64_t time_ns) {
    const auto found = std::lower_bound(begin + static_cast<std::ptrdiff_t>(index), begin + static_cast<std::ptrdiff_t>(to), time_ns);
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
  CallSums sums;
  for (auto index = from; index < to; ++index) {
    switch (class_of(batch_.kind[index])) {
      case CallClass::allocation:
        add_allocation<is_counted, follows_blocks>(index, false, sums);
        break;
      case CallClass::release:
      case CallClass::sized_release:
        add_release<is_counted, follows_blocks>(index, sums);
        break;
      case CallClass::realloc:
        add_realloc_release<is_counted, follows_blocks>(index, sums);
        add_allocation<is_counted, follows_blocks>(index, true, sums);
        break;
      case CallClass::other:
        if constexpr (is_counted) {
          add_other(index, sums);
        }
        break;
    }
  }
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
inline void Preparer::add_allocation(std::size_t index, bool is_realloc, CallSums& sums) {
  const auto kind = batch_.kind[index];
  const auto address = batch_.address[index];
  const auto size = batch_.size[index];
  const auto duration_ns = batch_.duration_ns[index];
  if (address == 0) [[unlikely]] {
    if constexpr (is_counted) {
      const bool is_free = is_realloc && batch_.old_address[index] != 0 && size == 0;
      const bool is_chosen = add_without_block(index, 0, sums);
      sums.failed += is_chosen && !is_free ? 1 : 0;
    }
    return;
  }
  const auto stack = stack_of(index);
  const auto usable = batch_.usable[index];
  const auto excess = usable > size ? usable - size : 0;
  bool is_chosen = true;
  std::uint64_t weight = 1;
  if constexpr (follows_blocks) {
    is_chosen = scope_.is_chosen(job_->lane, size, stack);
    weight = scope_.weight.of(size, thread_, job_->chunk->first_sequence + index);
  }
  auto& row = *next_row_++;
  row.address = address;
  row.time_ns = batch_.begin_ns[index] + duration_ns;
  row.size = static_cast<std::uint32_t>(size);
  row.stack = stack;
  row.duration_ns = duration_ns;
  row.excess = static_cast<std::uint16_t>(excess);
  row.kind = kind;
  row.flags = static_cast<std::uint8_t>(row_acquires | (is_realloc && batch_.old_address[index] != 0 ? row_in_realloc : 0) |
                                        (is_chosen ? 0 : row_not_chosen));
  if (size > UINT32_MAX || excess > UINT16_MAX || weight != 1) [[unlikely]] {
    put_wide(row, size, excess, weight);
  }
  if (is_counted && is_chosen) {
    calls_.add_call(kind, duration_ns, size, weight);
    calls_.add_block(stack, size, excess, duration_ns, is_realloc, weight);
    sums.allocations += weight;
    sums.requested_bytes += size * weight;
    sums.excess_bytes += excess * weight;
    sums.allocator_ns += duration_ns * weight;
    if (calls_.slowest().is_candidate(duration_ns)) [[unlikely]] {
      calls_.slowest().add({batch_.begin_ns[index], duration_ns, kind, thread_, stack, size});
    }
  }
}

template <bool is_counted, bool follows_blocks>
inline void Preparer::add_release(std::size_t index, CallSums& sums) {
  const auto kind = batch_.kind[index];
  const auto address = batch_.address[index];
  const auto duration_ns = batch_.duration_ns[index];
  if (address == 0) [[unlikely]] {
    if (is_counted && !scope_.chooses_by_block() && scope_.is_lane_chosen(job_->lane)) {
      ++sums.null_frees;
      calls_.add_call(kind, duration_ns, 0, 1);
      sums.allocator_ns += duration_ns;
    }
    return;
  }
  auto& row = *next_row_++;
  row.address = address;
  row.time_ns = batch_.begin_ns[index];
  row.size = 0;
  row.stack = stack_of(index);
  row.duration_ns = duration_ns;
  row.excess = 0;
  row.kind = kind;
  row.flags = 0;
  if (class_of(kind) == CallClass::sized_release) {
    const auto size = batch_.size[index];
    row.size = static_cast<std::uint32_t>(size);
    row.flags = row_size_stated;
    if (size > UINT32_MAX) [[unlikely]] {
      put_wide(row, size, 0, 1);
    }
  }
  if constexpr (is_counted && !follows_blocks) {
    calls_.add_call(kind, duration_ns, 0, 1);
    ++sums.releases;
    sums.allocator_ns += duration_ns;
  }
}

// The old side of a realloc that gave its block up: the call moved it, or
// freed it (size 0).
template <bool is_counted, bool follows_blocks>
inline void Preparer::add_realloc_release(std::size_t index, CallSums& sums) {
  const auto old_address = batch_.old_address[index];
  const bool is_free = batch_.address[index] == 0;
  if (old_address == 0 || (is_free && batch_.size[index] != 0)) {
    return;
  }
  auto& row = *next_row_++;
  row = Row{};
  row.address = old_address;
  row.time_ns = batch_.begin_ns[index];
  row.stack = stack_of(index);
  row.duration_ns = is_free ? batch_.duration_ns[index] : 0;
  row.kind = batch_.kind[index];
  row.flags = is_free ? 0 : row_in_realloc;
  if constexpr (is_counted && !follows_blocks) {
    ++sums.releases;
  }
}

void Preparer::add_other(std::size_t index, CallSums& sums) {
  const auto kind = batch_.kind[index];
  const bool has_bytes = kind == EventKind::mmap_ || kind == EventKind::munmap_ || kind == EventKind::mremap_;
  add_without_block(index, has_bytes ? batch_.size[index] : 0, sums);
}

// Failed allocations and calls that are not about blocks. False when
// filtered out.
bool Preparer::add_without_block(std::size_t index, std::uint64_t bytes, CallSums& sums) {
  const auto kind = batch_.kind[index];
  const auto duration_ns = batch_.duration_ns[index];
  const auto stack = stack_of(index);
  if (scope_.follows_blocks() && !scope_.is_chosen(job_->lane, batch_.size[index], stack)) {
    return false;
  }
  calls_.add_call(kind, duration_ns, bytes, 1);
  calls_.add_mapping(kind, batch_.address[index] != 0 ? bytes : 0);
  sums.allocator_ns += duration_ns;
  if (calls_.slowest().is_candidate(duration_ns)) {
    calls_.slowest().add({batch_.begin_ns[index], duration_ns, kind, thread_, stack, batch_.size[index]});
  }
  return true;
}

}  // namespace heapwright::analyze
