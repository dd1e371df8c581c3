// SPDX-License-Identifier: MIT
#include "collect/live_heap.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "collect/living_events.hpp"
#include "trace/event_rows.hpp"

namespace heapwright::collect {
namespace {

// What is needed of the event that allocated a block.
struct KeptBlock {
  KeptBlock() = default;
  explicit KeptBlock(const PlacedEvent& placed)
      : size(placed.event.size),
        usable(std::max(placed.event.usable, placed.event.size)),
        stack(placed.event.stack),
        thread(placed.thread) {}

  std::uint64_t size = 0;
  std::uint64_t usable = 0;
  std::uint32_t stack = 0;
  std::uint32_t thread = 0;
};

// Disjoint ranges; a later one replaces what it overlaps.
class MappedRanges {
 public:
  void add(const OwnMapping& mapping) {
    remove(mapping.range);
    if (mapping.range.begin < mapping.range.end) ranges_[mapping.range.begin] = mapping;
  }

  void remove(AddressRange range) {
    if (range.begin >= range.end) return;
    auto at = ranges_.lower_bound(range.begin);
    if (at != ranges_.begin() && std::prev(at)->second.range.end > range.begin) --at;
    while (at != ranges_.end() && at->first < range.end) {
      const auto [mapped, stack] = at->second;
      at = ranges_.erase(at);
      if (mapped.begin < range.begin) ranges_[mapped.begin] = {{mapped.begin, range.begin}, stack};
      if (mapped.end > range.end) ranges_[range.end] = {{range.end, mapped.end}, stack};
    }
  }

  std::vector<OwnMapping> all() const {
    std::vector<OwnMapping> found;
    found.reserve(ranges_.size());
    for (const auto& [begin, mapping] : ranges_) found.push_back(mapping);
    return found;
  }

 private:
  std::map<std::uint64_t, OwnMapping> ranges_;  // by their begins
};

std::vector<OwnMapping> mapped_by(std::vector<trace::Event>& calls) {
  std::stable_sort(calls.begin(), calls.end(),
                   [](const trace::Event& a, const trace::Event& b) { return a.begin_ns < b.begin_ns; });
  MappedRanges ranges;
  for (const trace::Event& call : calls) {
    using trace::EventKind;
    if (call.address == 0 || call.address > trace::max_address) continue;
    const AddressRange range{call.address, call.address + std::min(call.size, trace::max_address)};
    if (call.kind == EventKind::munmap_) ranges.remove(range);
    if (call.kind == EventKind::mremap_) ranges.remove({call.old_address, call.old_address + call.usable});
    if (call.kind == EventKind::mmap_ || call.kind == EventKind::mremap_) ranges.add({range, call.stack});
  }
  return ranges.all();
}

}  // namespace

LiveHeap live_heap_of(const trace::Reader& trace, const LiveHeapWish& wish) {
  std::vector<trace::EventChunk> chunks = trace.event_chunks();
  std::stable_sort(chunks.begin(), chunks.end(),
                   [](const auto& a, const auto& b) { return a.first_begin_ns < b.first_begin_ns; });
  LivingBlocks<KeptBlock> living;
  living.keep_ended_since(wish.ended_since_ns);
  std::vector<trace::Event> mapping_calls;
  trace::DecodeScratch scratch;
  trace::EventBatch batch;
  for (const trace::EventChunk& chunk : chunks) {
    living.pass(chunk.first_begin_ns);
    trace.decode(chunk, scratch, batch);
    for (std::size_t i = 0; i < batch.count(); ++i) {
      const trace::Event event = trace::event_at(batch, i);
      if (trace::changes_mappings(event.kind)) mapping_calls.push_back(event);
      living.add({event, chunk.thread, chunk.first_sequence + i});
    }
  }
  LiveHeap heap;
  heap.blocks.reserve(living.addresses());
  heap.usable.reserve(living.addresses());
  living.take([&](std::uint64_t address, const KeptBlock& block, std::uint64_t made_ns) {
    if (made_ns >= wish.young_since_ns) heap.young.push_back(static_cast<std::uint32_t>(heap.blocks.size()));
    heap.blocks.push_back({address, block.size, block.stack});
    heap.usable.push_back(block.usable);
  });
  for (const auto& [address, block] : living.ended()) {
    heap.ended.push_back({address, address + block.usable});
  }
  heap.own_mappings = mapped_by(mapping_calls);
  return heap;
}

}  // namespace heapwright::collect
