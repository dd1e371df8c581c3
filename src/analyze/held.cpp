// SPDX-License-Identifier: MIT
#include "analyze/held.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyze/held_dominators.hpp"
#include "graph/lost.hpp"
#include "graph/nearest.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::size_t most_listed_holders = 256;
constexpr std::size_t most_listed_held_sites = 4096;
constexpr std::size_t most_listed_types = 65536;
constexpr std::size_t most_listed_ways = 256;
constexpr std::size_t most_steps = 16;  // those at the holder; a list has as many as nodes

template <typename Row>
void most_held_first(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
}

class HeldJoin {
  using Kind = std::pair<std::uint32_t, std::uint32_t>;  // a stack, and a type
  struct SiteSum {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
    std::uint64_t linked_blocks = 0;
    std::uint64_t table_blocks = 0;
    std::uint32_t nearest = 0;  // of its blocks, to a root
  };

 public:
  explicit HeldJoin(const trace::HeapGraph& graph)
      : graph_(graph), reached_(graph), blocks_(reached_.blocks), start_(reached_.start) {}

  Held result() {
    sum_all();
    sum_types();
    find_lost();
    find_holders();
    return std::move(held_);
  }

 private:
  void sum_all() {
    held_.is_known = true;
    held_.time_ns = graph_.time_ns;
    held_.stopped_ns = graph_.stopped_ns;
    held_.copies = graph_.copies;
    held_.missed_blocks = graph_.missed_blocks;
    held_.blocks = blocks_;
    std::vector<std::uint8_t> is_pointed_to(blocks_);
    std::vector<std::uint8_t> is_begin_known(blocks_);
    for (const trace::GraphEdge& edge : graph_.edges) {
      is_pointed_to[edge.to] = 1;
      if (!edge.is_interior) is_begin_known[edge.to] = 1;
    }
    for (std::uint32_t block = 0; block < blocks_; ++block) {
      held_.bytes += graph_.nodes[block].size;
      if (is_pointed_to[block] == 0 || is_begin_known[block] != 0) continue;
      ++held_.interior_blocks;
      held_.interior_bytes += graph_.nodes[block].size;
    }
  }

  Kind kind_of(std::uint32_t block) const {
    return {graph_.nodes[block].stack, graph_.type_of.empty() ? 0 : graph_.type_of[block]};
  }

  void sum_types() {
    held_.types = graph_.types;
    std::map<Kind, LiveType> sums;
    for (std::uint32_t block = 0; block < blocks_; ++block) {
      const Kind kind = kind_of(block);
      LiveType& sum = sums.try_emplace(kind, LiveType{kind.first, kind.second, 0, 0}).first->second;
      ++sum.blocks;
      sum.bytes += graph_.nodes[block].size;
    }
    for (const auto& [kind, sum] : sums) held_.live.push_back(sum);
    most_held_first(held_.live);
    if (held_.live.size() > most_listed_types) held_.live.resize(most_listed_types);
  }

  void find_lost() {
    std::vector<std::uint8_t> is_lost(start_ + 1U);
    for (std::uint32_t block = 0; block < blocks_; ++block) {
      is_lost[block] = reached_.dominators.of[block] == graph::none ? 1 : 0;
    }
    const auto kinds = graph::kinds_of_lost(reached_.whole, is_lost);
    std::map<Kind, LostSite> by_kind;
    for (std::uint32_t block = 0; block < blocks_; ++block) {
      if (is_lost[block] != 0) add_lost(block, kinds[block], by_kind);
    }
    for (const auto& [of, site] : by_kind) held_.lost_sites.push_back(site);
    most_held_first(held_.lost_sites);
  }

  void add_lost(std::uint32_t number, graph::LostKind kind, std::map<Kind, LostSite>& by_kind) {
    const trace::GraphNode& block = graph_.nodes[number];
    LostSite& site = by_kind[kind_of(number)];
    std::tie(site.stack, site.type) = kind_of(number);
    ++site.blocks;
    site.bytes += block.size;
    ++held_.lost_blocks;
    held_.lost_bytes += block.size;
    const bool is_direct = kind == graph::LostKind::directly;
    const bool is_cycle = kind == graph::LostKind::in_cycle;
    site.direct_blocks += is_direct ? 1 : 0;
    site.direct_bytes += is_direct ? block.size : 0;
    site.cycle_blocks += is_cycle ? 1 : 0;
    site.cycle_bytes += is_cycle ? block.size : 0;
  }

  // Parts of one list have the same size, wherever they were allocated.
  bool are_alike(std::uint32_t one, std::uint32_t other) const {
    return graph_.nodes[one].size == graph_.nodes[other].size && kind_of(one).second == kind_of(other).second;
  }

  // By block, 1 if another one that is alike points to it.
  std::vector<std::uint8_t> linked_blocks() const {
    std::vector<std::uint8_t> found(blocks_);
    for (const trace::GraphEdge& edge : graph_.edges) {
      if (edge.from < blocks_ && edge.from != edge.to && are_alike(edge.from, edge.to)) found[edge.to] = 1;
    }
    return found;
  }

  // By block, 1 if a block that is not alike points to it and to many others.
  std::vector<std::uint8_t> table_blocks() const {
    constexpr std::ptrdiff_t many = 16;
    std::vector<std::uint8_t> found(blocks_);
    for (auto edge = graph_.edges.begin(); edge != graph_.edges.end() && edge->from < blocks_;) {
      const auto end = std::find_if(edge, graph_.edges.end(),
                                    [&](const trace::GraphEdge& other) { return other.from != edge->from; });
      for (auto at = edge; end - edge >= many && at != end; ++at) {
        if (!are_alike(at->from, at->to)) found[at->to] = 1;
      }
      edge = end;
    }
    return found;
  }

  void find_holders() {
    const graph::Nearest nearest = graph::nearest_from(reached_.whole, start_);
    // The root that retains each node; start_: none alone does.
    std::vector<std::uint32_t> holder(start_ + 1U, start_);
    std::map<std::pair<std::uint32_t, Kind>, SiteSum> by_site;
    std::vector<Holder> holders(start_ - blocks_ + 1U);
    for (const std::uint32_t node : reached_.dominators.order) {
      if (node == start_) continue;
      const std::uint32_t above = reached_.dominators.of[node];
      holder[node] = node >= blocks_ ? node : holder[above];
      if (node >= blocks_) continue;
      const trace::GraphNode& block = graph_.nodes[node];
      const std::uint32_t root = holder[node] - blocks_;
      ++holders[root].blocks;
      holders[root].bytes += block.size;
    }
    const std::vector<std::uint8_t> is_linked = linked_blocks();
    const std::vector<std::uint8_t> is_in_table = table_blocks();
    // The first of a site is the nearest one.
    for (const std::uint32_t node : nearest.order) {
      if (node >= blocks_) continue;
      const std::uint32_t root = holder[node] - blocks_;
      SiteSum& site = by_site.try_emplace({root, kind_of(node)}, SiteSum{0, 0, 0, 0, node}).first->second;
      ++site.blocks;
      site.bytes += graph_.nodes[node].size;
      site.linked_blocks += is_linked[node];
      site.table_blocks += is_in_table[node];
    }
    held_.shared_blocks = holders.back().blocks;
    held_.shared_bytes = holders.back().bytes;
    const std::vector<std::uint32_t> listed = put_holders(holders, by_site);
    for (std::size_t row = 0; row < listed.size(); ++row) put_way(listed[row], nearest);
  }

  // Returns what put_sites() does.
  std::vector<std::uint32_t> put_holders(const std::vector<Holder>& holders,
                                         const std::map<std::pair<std::uint32_t, Kind>, SiteSum>& by_site) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t root = 0; root + 1 < holders.size(); ++root) {
      if (holders[root].blocks != 0) order.push_back(root);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return holders[a].bytes > holders[b].bytes; });
    if (order.size() > most_listed_holders) order.resize(most_listed_holders);
    std::unordered_map<std::uint32_t, std::uint32_t> place;
    for (const std::uint32_t root : order) {
      place[root] = static_cast<std::uint32_t>(held_.holders.size());
      const trace::GraphRoot& of = graph_.roots[root];
      held_.holders.push_back({static_cast<std::uint32_t>(of.kind), of.thread_id, of.module, of.symbol,
                               of.stack, holders[root].blocks, holders[root].bytes});
    }
    return put_sites(by_site, place, static_cast<std::uint32_t>(holders.size() - 1));
  }

  // `place` of each root in Held::holders; `several` is the number of what no single root retains. Returns
  // the nearest block of the first sites.
  std::vector<std::uint32_t> put_sites(const std::map<std::pair<std::uint32_t, Kind>, SiteSum>& by_site,
                                       const std::unordered_map<std::uint32_t, std::uint32_t>& place,
                                       std::uint32_t several) {
    struct Row {
      HeldSite site;
      std::uint32_t nearest = 0;
      std::uint64_t bytes = 0;
    };
    std::vector<Row> rows;
    for (const auto& [key, sum] : by_site) {
      const auto found = place.find(key.first);
      if (key.first != several && found == place.end()) continue;
      const auto holder =
          static_cast<std::uint32_t>(key.first == several ? held_.holders.size() : found->second);
      const auto& [stack, type] = key.second;
      rows.push_back({{holder, stack, type, sum.blocks, sum.bytes, sum.linked_blocks, sum.table_blocks},
                      sum.nearest,
                      sum.bytes});
    }
    most_held_first(rows);
    if (rows.size() > most_listed_held_sites) rows.resize(most_listed_held_sites);
    std::vector<std::uint32_t> listed;
    for (const Row& row : rows) {
      if (listed.size() < most_listed_ways) listed.push_back(row.nearest);
      held_.held_sites.push_back(row.site);
    }
    return listed;
  }

  // Of the next of held_sites.
  void put_way(std::uint32_t block, const graph::Nearest& nearest) {
    std::vector<std::uint32_t> way;
    std::uint32_t at = nearest.from[block];
    for (; at < blocks_; at = nearest.from[at]) way.push_back(at);
    const auto number = static_cast<std::uint32_t>(held_.ways.size());
    const trace::GraphRoot& root = graph_.roots[at - blocks_];
    held_.ways.push_back(
        {static_cast<std::uint32_t>(root.kind), root.thread_id, root.module, root.symbol, root.stack});
    for (std::size_t step = 0; step < std::min(way.size(), most_steps); ++step) {
      held_.steps.push_back({number, graph_.nodes[way[way.size() - 1 - step]].stack});
    }
  }

  const trace::HeapGraph& graph_;
  HeldDominators reached_;
  std::uint32_t blocks_;
  std::uint32_t start_;
  Held held_;
};

}  // namespace

Held held_in(const trace::HeapGraph& graph) { return HeldJoin(graph).result(); }

Held held_of(const trace::Reader& reader, std::uint64_t time_ns) {
  return held_in(trace::read_heap_graph(reader, time_ns));
}

}  // namespace heapwright::analyze
