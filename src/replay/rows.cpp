// SPDX-License-Identifier: MIT
#include "replay/rows.hpp"

#include <algorithm>

#include "trace/damage.hpp"

namespace heapwright::replay {

using trace::EventKind;

namespace {

constexpr std::uint64_t private_anonymous = 0x22;  // MAP_PRIVATE | MAP_ANONYMOUS
constexpr std::uint64_t shared = 0x01;

// Whether an mmap call made private memory of the process. usable: protection | flags << 8; older traces lack
// it.
bool is_own_memory(std::uint64_t usable) noexcept {
  const auto flags = usable >> 8U;
  return (flags & private_anonymous) == private_anonymous && (flags & shared) == 0;
}

}  // namespace

RowMaker::RowMaker(const order::Source& source, std::uint32_t slice_events, With with)
    : decoder_(source.make_decoder()), slice_events_(slice_events), with_(with) {}

void RowMaker::make(const order::ScheduledChunk& job, std::uint32_t first_event, Piece& piece) {
  piece.rows.clear();
  piece.durations_ns.clear();
  piece.set_next_event(job.chunk->count);
  try {
    decoder_->decode(*job.chunk, batch_);
  } catch (const trace::TraceError&) {
    ++damaged_chunks_;
    return;
  }
  const auto count = batch_.count();
  const auto from = std::min<std::size_t>(first_event, count);
  const auto to = count - from > slice_events_ ? from + slice_events_ : count;
  for (auto index = from; index < to; ++index) {
    add(index, piece.rows);
    if (with_.durations) add_duration(index, piece);
  }
  if (to < count) piece.set_next_event(static_cast<std::uint32_t>(to));
}

void RowMaker::add(std::size_t index, std::vector<Row>& rows) const {
  const auto kind = batch_.kind[index];
  Row row{batch_.address[index],
          batch_.begin_ns[index],
          batch_.size[index],
          batch_.stack[index],
          kind,
          batch_.alignment_log2[index],
          Step::makes};
  const auto end_ns = row.time_ns + batch_.duration_ns[index];
  if (kind == EventKind::malloc_trim_ || kind == EventKind::mallopt_) {
    row.step = Step::tunes;
    rows.push_back(row);
    return;
  }
  if (trace::changes_mappings(kind)) return add_mapping(index, row, rows);
  if (with_.phases && trace::is_annotation(kind)) {
    row.step = Step::annotates;
    if (kind == EventKind::annotation_text) row.address = batch_.usable[index];
    rows.push_back(row);
    return;
  }
  if (trace::is_release(kind)) {
    row.step = Step::releases;
    if (row.address != 0) rows.push_back(row);
    return;
  }
  if (!trace::is_allocation(kind)) return;
  const auto old_address = trace::is_realloc(kind) ? batch_.old_address[index] : 0;
  const bool frees_old = old_address != 0 && row.address == 0 && row.size == 0;
  if (row.address == 0 && !frees_old) {
    row.step = Step::fails;
    rows.push_back(row);
    return;
  }
  if (old_address != 0) {
    Row old = row;
    old.address = old_address;
    old.kind = frees_old ? EventKind::free_ : kind;
    old.step = frees_old ? Step::releases : Step::moves_from;
    rows.push_back(old);
    if (frees_old) return;
    row.step = Step::moves_to;
  }
  row.time_ns = end_ns;
  rows.push_back(row);
}

void RowMaker::add_duration(std::size_t index, Piece& piece) const {
  if (piece.rows.size() == piece.durations_ns.size()) return;
  piece.durations_ns.resize(piece.rows.size(), 0);
  const auto step = piece.rows.back().step;
  const bool is_of_end = step == Step::makes || step == Step::moves_to;
  if (is_of_end) piece.durations_ns.back() = static_cast<std::uint32_t>(batch_.duration_ns[index]);
}

void RowMaker::add_mapping(std::size_t index, Row row, std::vector<Row>& rows) const {
  if (row.kind == EventKind::mprotect_ || row.kind == EventKind::madvise_ || row.address == 0) return;
  row.step = Step::unmaps;
  if (row.kind == EventKind::mremap_) {
    Row old = row;
    old.address = batch_.old_address[index];
    old.size = batch_.usable[index];
    rows.push_back(old);
  }
  const bool is_made =
      row.kind == EventKind::mremap_ || (row.kind == EventKind::mmap_ && is_own_memory(batch_.usable[index]));
  if (is_made) row.step = Step::maps;
  rows.push_back(row);
}

}  // namespace heapwright::replay
