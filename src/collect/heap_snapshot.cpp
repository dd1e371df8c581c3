// SPDX-License-Identifier: MIT
#include "collect/heap_snapshot.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "collect/block_finder.hpp"
#include "collect/object_types.hpp"
#include "collect/root_ranges.hpp"

namespace heapwright::collect {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
class Scan {
 public:
  Scan(const SnapshotOf& of, trace::HeapGraph& graph)
      : of_(of), graph_(graph), blocks_(of.heap.blocks), finder_(blocks_), types_(of.image) {}

  void run() {
    // As it grows otherwise, all edges would be there twice. What is not used costs nothing.
    graph_.edges.reserve(of_.image.words->words() + of_.heap.young.size());
    graph_.type_of.resize(blocks_.size());
    StackFrames frames(of_.image);
    const RootRanges ranges(of_.image, of_.heap, frames);
    for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
      if (!ranges.is_root(blocks_[block].address)) scan_block(block);
    }
    graph_.types = types_.names();
    for (const RootRange& range : ranges.all()) scan_root(range);
    for (const tracee::StoppedThread& thread : of_.image.threads) scan_registers(thread);
    for (const AddressRange& ended : of_.heap.ended) scan_ended(ended);
    for (const std::uint32_t block : of_.heap.young) {
      add_root_edge({trace::RootKind::young, 0, {}, {}}, block, blocks_[block].address);
    }
    std::sort(root_edges_.begin(), root_edges_.end(),
              [](const trace::GraphEdge& a, const trace::GraphEdge& b) {
                return std::tie(a.from, a.to, a.is_interior) < std::tie(b.from, b.to, b.is_interior);
              });
    root_edges_.erase(std::unique(root_edges_.begin(), root_edges_.end()), root_edges_.end());
    graph_.edges.insert(graph_.edges.end(), root_edges_.begin(), root_edges_.end());
    graph_.nodes = std::move(of_.heap.blocks);
    if (graph_.edges.size() > trace::max_graph_edges) throw std::runtime_error("it has too many pointers");
  }

 private:
  // glibc's bins and its top point at chunks' headers: the last word of the block in front.
  bool is_chunk_header(std::uint32_t block, std::uint64_t word) const noexcept {
    return of_.is_glibc && word == blocks_[block].address + of_.heap.usable[block] - word_bytes;
  }

  // The block ends within the word: what is behind its end was left by another block, and together with the
  // end of a text often looks like an address.
  bool is_cut(std::uint32_t block, std::uint64_t at) const noexcept {
    const std::uint64_t end = blocks_[block].address + blocks_[block].size;
    return at < end && end < at + word_bytes;
  }

  void scan_block(std::uint32_t block) {
    const std::uint64_t begin = blocks_[block].address;
    of_.image.words->visit(begin, begin + of_.heap.usable[block], [&](std::uint64_t at, std::uint64_t word) {
      if (at == begin) graph_.type_of[block] = types_.of(word);
      const std::uint32_t to = finder_.find(word);
      if (to == BlockFinder::none || is_cut(block, at)) return;
      // Left by the free chunk that was here.
      const bool is_left = at - begin < 2 * word_bytes && is_chunk_header(to, word);
      if (!is_left) graph_.edges.push_back({block, to, at - begin, word != blocks_[to].address});
    });
  }

  void scan_root(const RootRange& range) {
    of_.image.words->visit(range.range.begin, range.range.end, [&](std::uint64_t at, std::uint64_t word) {
      const std::uint32_t to = finder_.find(word);
      if (to == BlockFinder::none) return;
      const bool is_older = range.kind == trace::RootKind::older_blocks;
      if ((range.is_libc || is_older) && is_chunk_header(to, word)) return;
      if (is_older && finder_.find(at) != BlockFinder::none) return;  // a block that is scanned itself
      const std::string symbol = range.names != nullptr ? range.names->at(at - range.bias) : range.function;
      if (range.is_libc && symbol == "main_arena") return;
      add_root_edge({range.kind, range.thread_id, range.module, symbol, range.mapping_stack}, to, word);
    });
  }

  // Blocks that were freed while the process was copied: their pointers may have moved since.
  void scan_ended(AddressRange range) {
    of_.image.words->visit(range.begin, range.end, [&](std::uint64_t, std::uint64_t word) {
      const std::uint32_t to = finder_.find(word);
      if (to == BlockFinder::none || is_chunk_header(to, word)) return;
      add_root_edge({trace::RootKind::moving, 0, {}, {}}, to, word);
    });
  }

  void scan_registers(const tracee::StoppedThread& thread) {
    for (const std::uint64_t word : thread.registers) {
      const std::uint32_t to = finder_.find(word);
      if (to == BlockFinder::none) continue;
      add_root_edge({trace::RootKind::registers, static_cast<std::uint64_t>(thread.id), {}, {}}, to, word);
    }
  }

  void add_root_edge(const trace::GraphRoot& root, std::uint32_t to, std::uint64_t word) {
    const auto key = std::make_tuple(root.kind, root.thread_id, root.module, root.symbol, root.stack);
    auto found = numbers_.find(key);
    if (found == numbers_.end()) {
      if (graph_.roots.size() == trace::max_graph_roots) {
        throw std::runtime_error("it has too many variables");
      }
      found = numbers_.emplace(key, static_cast<std::uint32_t>(blocks_.size() + graph_.roots.size())).first;
      graph_.roots.push_back(root);
    }
    root_edges_.push_back({found->second, to, 0, word != blocks_[to].address});
  }

  const SnapshotOf& of_;
  trace::HeapGraph& graph_;
  std::span<const trace::GraphNode> blocks_;
  BlockFinder finder_;
  ObjectTypes types_;
  std::map<std::tuple<trace::RootKind, std::uint64_t, std::string, std::string, std::uint32_t>, std::uint32_t>
      numbers_;
  std::vector<trace::GraphEdge> root_edges_;
};

}  // namespace

trace::HeapGraph snapshot_of(const SnapshotOf& of) {
  if (of.heap.blocks.size() > trace::max_graph_nodes) throw std::runtime_error("it has too many blocks");
  trace::HeapGraph graph;
  Scan(of, graph).run();
  return graph;
}

}  // namespace heapwright::collect
