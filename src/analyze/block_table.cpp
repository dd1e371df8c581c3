// SPDX-License-Identifier: MIT
// BlockTable: the merge of the analysis, with rows that keep everything shown for a block.
#include <algorithm>
#include <bit>

#include "analyze/blocks.hpp"
#include "analyze/events_table.hpp"
#include "order/decode_ahead.hpp"
#include "order/merge.hpp"
#include "order/schedule.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::size_t rows_per_batch = 65536;
constexpr std::uint64_t merge_bytes = std::uint64_t{256} << 20;

struct BlockRow {
  std::uint64_t address;
  std::uint64_t time_ns;  // acquisitions: the call's end
  std::uint64_t begin_ns;
  std::uint64_t size;
  std::uint64_t usable;
  std::uint32_t stack;
  trace::EventKind kind;
  std::uint8_t alignment_log2;
  bool is_acquisition;
  bool is_in_realloc;
};

struct BlockPiece {
  const order::ScheduledChunk* job = nullptr;
  std::vector<BlockRow> rows;
  std::uint32_t used_events = 0;

  std::size_t count() const noexcept { return rows.size(); }
  std::uint32_t next_event() const noexcept { return used_events; }
  std::uint64_t key(std::size_t index) const noexcept {
    return order::merge_key(rows[index].time_ns, rows[index].is_acquisition);
  }
};

void add_rows(const trace::EventBatch& batch, std::size_t index, std::vector<BlockRow>& rows) {
  const auto kind = batch.kind[index];
  BlockRow row{};
  row.begin_ns = batch.begin_ns[index];
  row.time_ns = row.begin_ns;
  row.stack = batch.stack[index];
  row.kind = kind;
  const bool is_realloc = trace::is_realloc(kind);
  const auto released = is_realloc ? batch.old_address[index] : batch.address[index];
  const bool failed = is_realloc && batch.address[index] == 0 && batch.size[index] != 0;
  if ((is_realloc || trace::is_release(kind)) && released != 0 && !failed) {
    row.address = released;
    row.is_in_realloc = is_realloc && batch.address[index] != 0;
    rows.push_back(row);
  }
  if (trace::is_allocation(kind) && batch.address[index] != 0) {
    row.address = batch.address[index];
    row.time_ns += batch.duration_ns[index];
    row.size = batch.size[index];
    row.usable = batch.usable[index];
    row.alignment_log2 = batch.alignment_log2[index];
    row.is_acquisition = true;
    rows.push_back(row);
  }
}

struct OpenBlock {
  BlockRow row;
  std::uint32_t lane;
};

void put(const OpenBlock& block, std::uint32_t thread, BlockColumns& columns) {
  const auto log2 = block.row.alignment_log2;
  columns.address.push_back(block.row.address);
  columns.size.push_back(block.row.size);
  columns.usable.push_back(block.row.usable);
  columns.alignment.push_back(log2 == 0 || log2 > 63 ? 0 : std::uint64_t{1} << log2);
  columns.kind.push_back(static_cast<std::uint8_t>(block.row.kind));
  columns.thread.push_back(thread);
  columns.stack.push_back(block.row.stack);
  columns.begin_ns.push_back(block.row.begin_ns);
}

void put_end(const BlockRow& release, std::uint32_t thread, bool is_temporary, BlockColumns& columns) {
  columns.is_freed.push_back(1);
  columns.end_ns.push_back(release.begin_ns);
  columns.free_thread.push_back(thread);
  columns.free_kind.push_back(static_cast<std::uint8_t>(release.kind));
  columns.free_stack.push_back(release.stack);
  columns.is_temporary.push_back(is_temporary ? 1 : 0);
}

void put_no_end(BlockColumns& columns) {
  columns.is_freed.push_back(0);
  columns.end_ns.push_back(0);
  columns.free_thread.push_back(0);
  columns.free_kind.push_back(0);
  columns.free_stack.push_back(0);
  columns.is_temporary.push_back(0);
}

}  // namespace

void BlockColumns::clear() noexcept {
  address.clear();
  size.clear();
  usable.clear();
  alignment.clear();
  kind.clear();
  thread.clear();
  stack.clear();
  begin_ns.clear();
  is_freed.clear();
  end_ns.clear();
  free_thread.clear();
  free_kind.clear();
  free_stack.clear();
  is_temporary.clear();
}

struct BlockTable::State {
  explicit State(std::unique_ptr<order::Source> from)
      : source(std::move(from)),
        schedule(order::make_schedule(source->event_chunks(), UINT64_MAX)),
        slice_events(schedule.slice_events(merge_bytes, sizeof(BlockRow))),
        last_address(schedule.thread_of_lane.size()) {
    decoders.push_back(source->make_decoder());
    decoders.push_back(source->make_decoder());
    batches.resize(decoders.size());
    ahead = std::make_unique<order::DecodeAhead<BlockPiece>>(
        schedule, static_cast<unsigned>(decoders.size() - 1),
        [this](unsigned worker, const order::ScheduledChunk& job, std::uint32_t first, BlockPiece& piece) {
          prepare(worker, job, first, piece);
        });
    merge = std::make_unique<order::Merge<BlockPiece>>(schedule, *ahead);
  }

  void prepare(unsigned worker, const order::ScheduledChunk& job, std::uint32_t first, BlockPiece& piece) {
    auto& batch = batches[worker];
    piece.rows.clear();
    piece.used_events = job.chunk->count;
    try {
      decoders[worker]->decode(*job.chunk, batch);
    } catch (const trace::TraceError&) {
      return;
    }
    const auto count = batch.count();
    const auto from = std::min<std::size_t>(first, count);
    const auto to = count - from > slice_events ? from + slice_events : count;
    for (auto index = from; index < to; ++index) {
      add_rows(batch, index, piece.rows);
    }
    if (to != count) {
      piece.used_events = static_cast<std::uint32_t>(to);
    }
  }

  std::uint32_t keep(const OpenBlock& block) {
    if (spare.empty()) {
      open.push_back(block);
      return static_cast<std::uint32_t>(open.size() - 1);
    }
    const auto index = spare.back();
    spare.pop_back();
    open[index] = block;
    return index;
  }

  void acquire(const BlockRow& row, std::uint32_t lane, BlockColumns& columns) {
    auto& slot = blocks.claim(row.address);
    if ((slot.flags & slot_live) != 0) {
      put(open[slot.size], schedule.thread_of_lane[open[slot.size].lane], columns);
      put_no_end(columns);
      spare.push_back(slot.size);
    }
    slot.flags = slot_live;
    slot.size = keep({row, lane});
    last_address[lane] = row.address;
  }

  void release(const BlockRow& row, std::uint32_t lane, BlockColumns& columns) {
    auto* slot = blocks.find(row.address);
    if (slot == nullptr) {
      return;
    }
    const auto& block = open[slot->size];
    const bool is_latest = last_address[lane] == row.address;
    last_address[lane] = is_latest ? 0 : last_address[lane];
    put(block, schedule.thread_of_lane[block.lane], columns);
    put_end(row, schedule.thread_of_lane[lane], is_latest && block.lane == lane && !row.is_in_realloc,
            columns);
    spare.push_back(slot->size);
    slot->flags = 0;
  }

  void add_run(BlockColumns& columns) {
    for (; run.from < run.to && columns.count() < rows_per_batch; ++run.from) {
      const auto& row = run.piece->rows[run.from];
      if (row.is_acquisition) {
        acquire(row, run.lane, columns);
      } else {
        release(row, run.lane, columns);
      }
    }
  }

  void list_survivors() {
    blocks.for_each_live([this](const Slot& slot) { survivors.push_back(slot.size); });
    std::sort(survivors.begin(), survivors.end(), [this](std::uint32_t a, std::uint32_t b) {
      return open[a].row.begin_ns < open[b].row.begin_ns;
    });
    is_merged = true;
  }

  std::unique_ptr<order::Source> source;
  order::Schedule schedule;
  std::uint32_t slice_events;
  std::vector<std::unique_ptr<order::ChunkDecoder>> decoders;
  std::vector<trace::EventBatch> batches;
  Blocks blocks;  // Slot::size: index into open
  std::vector<OpenBlock> open;
  std::vector<std::uint32_t> spare;
  std::vector<std::uint64_t> last_address;  // by lane
  order::Run<BlockPiece> run;
  bool is_merged = false;
  std::vector<std::uint32_t> survivors;
  std::size_t next_survivor = 0;
  std::unique_ptr<order::DecodeAhead<BlockPiece>> ahead;  // its threads use the above
  std::unique_ptr<order::Merge<BlockPiece>> merge;
};

BlockTable::BlockTable(const trace::Reader& reader) : BlockTable(order::make_source(reader)) {}
BlockTable::BlockTable(std::unique_ptr<order::Source> source)
    : state_(std::make_unique<State>(std::move(source))) {}
BlockTable::~BlockTable() = default;
BlockTable::BlockTable(BlockTable&&) noexcept = default;

bool BlockTable::next(BlockColumns& columns) {
  auto& state = *state_;
  columns.clear();
  while (!state.is_merged && columns.count() < rows_per_batch) {
    if (state.run.from == state.run.to && !state.merge->next(state.run)) {
      state.list_survivors();
      break;
    }
    state.add_run(columns);
  }
  while (state.is_merged && state.next_survivor < state.survivors.size() &&
         columns.count() < rows_per_batch) {
    const auto& block = state.open[state.survivors[state.next_survivor++]];
    put(block, state.schedule.thread_of_lane[block.lane], columns);
    put_no_end(columns);
  }
  return columns.count() != 0;
}

}  // namespace heapwright::analyze
