// SPDX-License-Identifier: MIT
#include "analyze/events_table.hpp"

#include "order/schedule.hpp"

namespace heapwright::analyze {

struct EventTable::State {
  explicit State(std::unique_ptr<order::Source> from)
      : source(std::move(from)),
        schedule(order::make_schedule(source->event_chunks(), UINT64_MAX)),
        decoder(source->make_decoder()) {}

  std::unique_ptr<order::Source> source;
  order::Schedule schedule;
  std::unique_ptr<order::ChunkDecoder> decoder;
  trace::EventBatch batch;
  std::size_t next_job = 0;
};

EventTable::EventTable(const trace::Reader& reader) : EventTable(order::make_source(reader)) {}
EventTable::EventTable(std::unique_ptr<order::Source> source)
    : state_(std::make_unique<State>(std::move(source))) {}
EventTable::~EventTable() = default;
EventTable::EventTable(EventTable&&) noexcept = default;

namespace {

void fill(const trace::EventChunk& chunk, const trace::EventBatch& batch, EventColumns& columns) {
  const auto count = batch.count();
  columns.thread.assign(count, chunk.thread);
  columns.sequence.resize(count);
  columns.kind.resize(count);
  columns.alignment.resize(count);
  for (std::size_t index = 0; index < count; ++index) {
    const auto log2 = batch.alignment_log2[index];
    columns.sequence[index] = chunk.first_sequence + index;
    columns.kind[index] = static_cast<std::uint8_t>(batch.kind[index]);
    columns.alignment[index] = log2 == 0 || log2 > 63 ? 0 : std::uint64_t{1} << log2;
  }
  columns.begin_ns = batch.begin_ns;
  columns.duration_ns = batch.duration_ns;
  columns.size = batch.size;
  columns.usable = batch.usable;
  columns.address = batch.address;
  columns.old_address = batch.old_address;
  columns.stack = batch.stack;
}

}  // namespace

bool EventTable::next(EventColumns& columns) {
  auto& state = *state_;
  while (state.next_job < state.schedule.jobs.size()) {
    const auto& chunk = *state.schedule.jobs[state.next_job++].chunk;
    try {
      state.decoder->decode(chunk, state.batch);
    } catch (const trace::TraceError&) {
      continue;
    }
    if (state.batch.count() != 0) {
      fill(chunk, state.batch, columns);
      return true;
    }
  }
  columns = {};
  return false;
}

}  // namespace heapwright::analyze
