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
#include "collect/root_ranges.hpp"

namespace heapwright::collect {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t piece_bytes = 1U << 20;

// The words of another process: copied ones, or read a large piece at a time.
class Words {
 public:
  explicit Words(const SnapshotOf& of) : image_(of.image), process_(of.process) {
    if (image_.memory == nullptr) piece_.resize(piece_bytes / word_bytes);
  }

  // Calls visit(address, word) for what is resident; nothing else can be a pointer.
  template <typename Visit>
  void visit(AddressRange range, const Visit& visit) {
    range.begin = (range.begin + word_bytes - 1) / word_bytes * word_bytes;
    const auto& runs = image_.resident;
    auto run = std::partition_point(runs.begin(), runs.end(),
                                    [&](const trace::PageRun& one) { return one.end <= range.begin; });
    for (; run != runs.end() && run->begin < range.end; ++run) {
      const std::uint64_t end = std::min(range.end, run->end) / word_bytes * word_bytes;
      for (std::uint64_t at = std::max(range.begin, run->begin); at < end;) {
        const std::span<const std::uint64_t> words = from(at, run->end);
        if (words.empty()) {  // it went away, or can have no pointers
          at = (at / page_bytes + 1) * page_bytes;
          continue;
        }
        const std::size_t count = std::min<std::uint64_t>(words.size(), (end - at) / word_bytes);
        for (const std::uint64_t word : words.first(count)) {
          visit(at, word);
          at += word_bytes;
        }
      }
    }
  }

 private:
  std::span<const std::uint64_t> from(std::uint64_t at, std::uint64_t run_end) {
    if (image_.memory != nullptr) return image_.memory->from(at, run_end);
    if (at < begin_ || at >= end_) {
      begin_ = at;
      const std::uint64_t bytes = std::min(piece_bytes, run_end - at);
      end_ = at + process_->read(at, piece_.data(), bytes) / word_bytes * word_bytes;
    }
    return std::span(piece_).subspan((at - begin_) / word_bytes, (end_ - at) / word_bytes);
  }

  const ProcessImage& image_;
  const tracee::StoppedProcess* process_;
  std::vector<std::uint64_t> piece_;  // of [begin_, end_)
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

class Scan {
 public:
  Scan(const SnapshotOf& of, trace::HeapGraph& graph)
      : of_(of), graph_(graph), finder_(of.heap.blocks), words_(of) {}

  void run() {
    graph_.nodes = of_.heap.blocks;
    for (std::uint32_t block = 0; block < graph_.nodes.size(); ++block) scan_block(block);
    const RootRanges ranges(of_.image, of_.heap);
    for (const RootRange& range : ranges.all()) scan_root(range);
    for (const tracee::StoppedThread& thread : of_.image.threads) scan_registers(thread);
    for (const std::uint32_t block : of_.heap.young) {
      add_root_edge({trace::RootKind::young, 0, {}, {}}, block, graph_.nodes[block].address);
    }
    std::sort(root_edges_.begin(), root_edges_.end(),
              [](const trace::GraphEdge& a, const trace::GraphEdge& b) {
                return std::tie(a.from, a.to, a.is_interior) < std::tie(b.from, b.to, b.is_interior);
              });
    root_edges_.erase(std::unique(root_edges_.begin(), root_edges_.end()), root_edges_.end());
    graph_.edges.insert(graph_.edges.end(), root_edges_.begin(), root_edges_.end());
    if (graph_.edges.size() > trace::max_graph_edges) throw std::runtime_error("it has too many pointers");
  }

 private:
  // glibc's bins and its top point at chunks' headers: the last word of the block in front.
  bool is_chunk_header(std::uint32_t block, std::uint64_t word) const noexcept {
    return of_.is_glibc && word == graph_.nodes[block].address + of_.heap.usable[block] - word_bytes;
  }

  void scan_block(std::uint32_t block) {
    const std::uint64_t begin = graph_.nodes[block].address;
    words_.visit({begin, begin + of_.heap.usable[block]}, [&](std::uint64_t at, std::uint64_t word) {
      const std::uint32_t to = finder_.find(word);
      if (to == BlockFinder::none) return;
      // Left by the free chunk that was here.
      const bool is_left = at - begin < 2 * word_bytes && is_chunk_header(to, word);
      if (!is_left) graph_.edges.push_back({block, to, at - begin, word != graph_.nodes[to].address});
    });
  }

  void scan_root(const RootRange& range) {
    words_.visit(range.range, [&](std::uint64_t at, std::uint64_t word) {
      const std::uint32_t to = finder_.find(word);
      if (to == BlockFinder::none) return;
      const bool is_older = range.kind == trace::RootKind::older_blocks;
      if ((range.is_libc || is_older) && is_chunk_header(to, word)) return;
      if (is_older && finder_.find(at) != BlockFinder::none) return;  // a block that is scanned itself
      const std::string symbol =
          range.variables != nullptr ? range.variables->name_at(at - range.bias) : std::string();
      if (range.is_libc && symbol == "main_arena") return;
      add_root_edge({range.kind, range.thread_id, range.module, symbol}, to, word);
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
    const auto key = std::make_tuple(root.kind, root.thread_id, root.module, root.symbol);
    auto found = numbers_.find(key);
    if (found == numbers_.end()) {
      if (graph_.roots.size() == trace::max_graph_roots) {
        throw std::runtime_error("it has too many variables");
      }
      found =
          numbers_.emplace(key, static_cast<std::uint32_t>(graph_.nodes.size() + graph_.roots.size())).first;
      graph_.roots.push_back(root);
    }
    root_edges_.push_back({found->second, to, 0, word != graph_.nodes[to].address});
  }

  const SnapshotOf& of_;
  trace::HeapGraph& graph_;
  BlockFinder finder_;
  Words words_;
  std::map<std::tuple<trace::RootKind, std::uint64_t, std::string, std::string>, std::uint32_t> numbers_;
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
