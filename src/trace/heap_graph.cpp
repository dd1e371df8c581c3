// SPDX-License-Identifier: MIT
#include "trace/heap_graph.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/crc32c.hpp"
#include "trace/block.hpp"
#include "trace/chunk_map.hpp"
#include "trace/record_fields.hpp"
#include "trace/residency.hpp"

namespace heapwright::trace {

void encode_summary(const HeapGraph& graph, Bytes& out) {
  Bytes record;
  put(record, graph.stopped_ns);
  put(record, graph.nodes.size());
  put(record, graph.roots.size());
  put(record, graph.edges.size());
  if (graph.copies != 0) {
    put(record, graph.copies);
    put(record, graph.missed_blocks);
  }
  put_record(out, record);
}

void encode_records(std::span<const GraphNode> nodes, Bytes& out) {
  std::uint64_t end = 0;
  for (const GraphNode& node : nodes) {
    put(out, node.address - end);
    put(out, node.size);
    put(out, node.stack);
    end = node.address;
  }
}

void encode_records(std::span<const GraphRoot> roots, Bytes& out) {
  for (const GraphRoot& root : roots) {
    Bytes record;
    put(record, static_cast<std::uint64_t>(root.kind));
    put(record, root.thread_id);
    put_text(record, root.module);
    put_text(record, root.symbol);
    put(record, root.stack);
    put_record(out, record);
  }
}

void encode_records(std::span<const GraphEdge> edges, Bytes& out) {
  GraphEdge last;
  for (const GraphEdge& edge : edges) {
    put(out, edge.from - last.from);
    put(out, edge.offset << 1U | (edge.is_interior ? 1U : 0U));
    put(out, base::zigzag_encode(std::int64_t{edge.to} - std::int64_t{last.to}));
    last = edge;
  }
}

void encode_records(std::span<const GraphType> types, Bytes& out) {
  for (const GraphType& type : types) {
    Bytes record;
    put_text(record, type.name);
    put(record, type.nodes.size());
    std::uint32_t last = 0;
    for (const std::uint32_t node : type.nodes) {
      put(record, node - last);
      last = node;
    }
    put_record(out, record);
  }
}

GraphCounts decode_summary(base::ByteSource source) {
  base::ByteSource record = next_record(source);
  GraphCounts counts;
  counts.stopped_ns = field(record);
  counts.nodes = field(record);
  counts.roots = field(record);
  counts.edges = field(record);
  counts.copies = field(record);
  counts.missed_blocks = field(record);
  require_read(record);
  return counts;
}

void decode_nodes(base::ByteSource source, std::uint32_t count, HeapGraph& graph) {
  require_count(source, count);
  std::uint64_t address = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t distance = source.varint();
    const std::uint64_t size = source.varint();
    const std::uint64_t stack = source.varint();
    require(distance <= max_address - address && size <= max_address && stack < max_stacks,
            "a block of a snapshot is impossible");
    address += distance;
    graph.nodes.push_back({address, size, static_cast<std::uint32_t>(stack)});
  }
  require_read(source);
}

void decode_roots(base::ByteSource source, std::uint32_t count, HeapGraph& graph) {
  require_count(source, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    base::ByteSource record = next_record(source);
    const std::uint64_t kind = field(record);
    require(kind <= last_root_kind, "a snapshot has an unknown kind of root");
    GraphRoot root;
    root.kind = static_cast<RootKind>(kind);
    root.thread_id = field(record);
    root.module = text_field(record);
    root.symbol = text_field(record);
    root.stack = narrow_field<std::uint32_t>(record);
    require_read(record);
    graph.roots.push_back(std::move(root));
  }
}

void decode_edges(base::ByteSource source, std::uint32_t count, HeapGraph& graph) {
  require_count(source, count);
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t distance = source.varint();
    const std::uint64_t offset = source.varint();
    to += static_cast<std::uint64_t>(source.signed_varint());
    require(distance <= UINT32_MAX - from && to <= UINT32_MAX, "a pointer of a snapshot is impossible");
    from += distance;
    graph.edges.push_back(
        {static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), offset >> 1U, (offset & 1U) != 0});
  }
  require_read(source);
}

void decode_types(base::ByteSource source, std::uint32_t count, HeapGraph& graph) {
  require_count(source, count);
  graph.type_of.resize(graph.nodes.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    base::ByteSource record = next_record(source);
    const std::string name = text_field(record);
    if (graph.types.empty() || graph.types.back() != name) graph.types.push_back(name);
    require(graph.types.size() <= max_graph_types, "a snapshot has too many types");
    std::uint64_t node = 0;
    for (std::uint64_t left = field(record); left > 0; --left) {
      node += record.varint();
      require(!record.has_failed() && node < graph.nodes.size(), "a type of a snapshot is of no block");
      graph.type_of[node] = static_cast<std::uint32_t>(graph.types.size());
    }
    require_read(record);
  }
  require_read(source);
}

void check_graph(const GraphCounts& promised, std::uint64_t stacks, HeapGraph& graph) {
  const bool is_whole = graph.nodes.size() == promised.nodes && graph.roots.size() == promised.roots &&
                        graph.edges.size() == promised.edges;
  require(is_whole, "a snapshot is incomplete");
  if (!graph.types.empty()) graph.type_of.resize(graph.nodes.size());
  for (std::size_t i = 1; i < graph.nodes.size(); ++i) {
    require(graph.nodes[i - 1].address < graph.nodes[i].address, "the blocks of a snapshot overlap");
  }
  for (GraphNode& node : graph.nodes) {
    if (node.stack >= stacks) node.stack = 0;
  }
  for (GraphRoot& root : graph.roots) {
    if (root.stack >= stacks) root.stack = 0;
  }
  std::uint32_t last = 0;
  for (const GraphEdge& edge : graph.edges) {
    const bool is_possible = edge.from >= last && edge.to < graph.nodes.size() &&
                             edge.from < graph.nodes.size() + graph.roots.size();
    require(is_possible, "a pointer of a snapshot leads nowhere");
    last = edge.from;
  }
}

namespace {

// Writes the records of a graph, chunk by chunk.
class GraphWriter {
 public:
  GraphWriter(Writer& writer, std::uint64_t time_ns) : writer_(writer), time_ns_(time_ns) {}

  template <typename Encode>
  bool put(GraphPart part, std::uint64_t first, std::size_t count, const Encode& encode) {
    records_.clear();
    encode(records_);
    chunk_.assign(sizeof(ChunkHeader), 0);
    packer_.pack(records_, chunk_);
    ChunkHeader header;
    header.kind = heap_graph_chunk;
    header.count = static_cast<std::uint32_t>(count);
    header.thread = static_cast<std::uint32_t>(part);
    header.first = first;
    header.first_begin_ns = time_ns_;
    header.last_end_ns = time_ns_;
    const std::span<const std::uint8_t> payload = std::span(chunk_).subspan(sizeof header);
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    header.payload_crc = base::crc32c(payload.data(), payload.size());
    header.header_crc = crc_of(header);
    std::memcpy(chunk_.data(), &header, sizeof header);
    return writer_.write_copied(header, chunk_);
  }

  template <typename Record>
  bool put_all(GraphPart part, std::span<const Record> all, std::size_t per_chunk) {
    for (std::uint64_t first = 0; !all.empty(); first += per_chunk) {
      const auto some = all.first(std::min(all.size(), per_chunk));
      if (!put(part, first, some.size(), [&](Bytes& out) { encode_records(some, out); })) return false;
      all = all.subspan(some.size());
    }
    return true;
  }

 private:
  Writer& writer_;
  std::uint64_t time_ns_;
  BlockPacker packer_;
  Bytes records_;
  Bytes chunk_;
};

void read_part(const InputFile& file, const IndexEntry& entry, GraphCounts& promised, HeapGraph& graph) {
  std::vector<std::uint8_t> chunk;
  std::vector<std::uint8_t> records;
  const auto payload = read_chunk(file, entry, chunk);
  base::ByteSource packed(payload.data(), payload.size());
  const auto unpacked = BlockUnpacker().unpack(packed, max_table_bytes, records);
  const base::ByteSource source(unpacked.data(), unpacked.size());
  const std::uint32_t count = entry.header.count;
  require(count <= max_records_per_chunk, "a snapshot claims too many records");
  switch (static_cast<GraphPart>(entry.header.thread)) {
    case GraphPart::summary:
      promised = decode_summary(source);
      break;
    case GraphPart::nodes:
      decode_nodes(source, count, graph);
      break;
    case GraphPart::roots:
      decode_roots(source, count, graph);
      break;
    case GraphPart::edges:
      decode_edges(source, count, graph);
      break;
    case GraphPart::types:
      decode_types(source, count, graph);
      break;
    default:
      break;
  }
}

std::vector<IndexEntry> graph_chunks(const Reader& reader) {
  std::vector<Damage> damage;  // the reader has told of it
  std::vector<IndexEntry> chunks = find_chunks(reader.file(), damage);
  std::erase_if(chunks, [](const IndexEntry& entry) { return entry.header.kind != heap_graph_chunk; });
  return chunks;
}

// Not types, which nobody needs for an answer.
bool is_promised(const IndexEntry& entry) {
  const std::uint32_t part = entry.header.thread;
  return part >= static_cast<std::uint32_t>(GraphPart::nodes) &&
         part <= static_cast<std::uint32_t>(GraphPart::edges);
}

// By type, in pieces that a chunk may have.
std::vector<GraphType> blocks_by_type(const HeapGraph& graph) {
  constexpr std::size_t most_blocks = max_records_per_chunk;
  std::vector<std::vector<std::uint32_t>> nodes(graph.types.size());
  for (std::uint32_t node = 0; node < graph.type_of.size(); ++node) {
    if (graph.type_of[node] != 0) nodes[graph.type_of[node] - 1].push_back(node);
  }
  std::vector<GraphType> pieces;
  for (std::size_t type = 0; type < nodes.size(); ++type) {
    for (std::size_t first = 0; first < nodes[type].size(); first += most_blocks) {
      const auto begin = nodes[type].begin() + static_cast<std::ptrdiff_t>(first);
      const std::size_t count = std::min(most_blocks, nodes[type].size() - first);
      pieces.push_back({graph.types[type], {begin, begin + static_cast<std::ptrdiff_t>(count)}});
    }
  }
  return pieces;
}

}  // namespace

bool write_heap_graph(const HeapGraph& graph, Writer& writer) {
  constexpr std::size_t roots_per_chunk = 64;  // as they have texts
  constexpr std::size_t types_per_chunk = 16;  // and many blocks
  const std::vector<GraphType> types = blocks_by_type(graph);
  GraphWriter parts(writer, graph.time_ns);
  return parts.put(GraphPart::summary, 0, 1, [&](Bytes& out) { encode_summary(graph, out); }) &&
         parts.put_all(GraphPart::nodes, std::span<const GraphNode>(graph.nodes), max_records_per_chunk) &&
         parts.put_all(GraphPart::types, std::span<const GraphType>(types), types_per_chunk) &&
         parts.put_all(GraphPart::roots, std::span<const GraphRoot>(graph.roots), roots_per_chunk) &&
         parts.put_all(GraphPart::edges, std::span<const GraphEdge>(graph.edges), max_records_per_chunk);
}

std::vector<std::uint64_t> heap_graph_times(const Reader& reader) {
  // By time: what the summary promises, and how much of it is there. 0: no summary.
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> records;
  for (const IndexEntry& entry : graph_chunks(reader)) {
    auto& [promised, found] = records[entry.header.first_begin_ns];
    if (entry.header.thread != static_cast<std::uint32_t>(GraphPart::summary)) {
      if (is_promised(entry)) found += entry.header.count;
      continue;
    }
    GraphCounts counts;
    HeapGraph unused;
    try {
      read_part(reader.file(), entry, counts, unused);
      promised = counts.nodes + counts.roots + counts.edges + 1;
    } catch (const TraceError&) {
      continue;  // of this snapshot alone nothing is known
    }
  }
  std::vector<std::uint64_t> times;
  for (const auto& [time_ns, of] : records) {
    if (of.first != 0 && of.first - 1 == of.second) times.push_back(time_ns);
  }
  return times;
}

HeapGraph read_heap_graph(const Reader& reader, std::uint64_t time_ns) {
  HeapGraph graph;
  graph.time_ns = time_ns;
  GraphCounts promised;
  for (const IndexEntry& entry : graph_chunks(reader)) {
    if (entry.header.first_begin_ns == time_ns) read_part(reader.file(), entry, promised, graph);
  }
  graph.stopped_ns = promised.stopped_ns;
  graph.copies = promised.copies;
  graph.missed_blocks = promised.missed_blocks;
  check_graph(promised, reader.stacks().size(), graph);
  return graph;
}

}  // namespace heapwright::trace
