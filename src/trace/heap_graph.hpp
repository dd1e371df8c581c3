// SPDX-License-Identifier: MIT
// Who points at whom in a heap: the live blocks of a process, and its pointers to them. No other
// contents of its memory.
//
// Chunks of kind heap_graph_chunk; they stay on disk until the graph is requested.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/varint.hpp"
#include "trace/put_fields.hpp"
#include "trace/reader.hpp"
#include "trace/writer.hpp"

namespace heapwright::trace {

// A live block.
struct GraphNode {
  std::uint64_t address = 0;
  std::uint64_t size = 0;  // as requested
  std::uint32_t stack = 0;
  bool operator==(const GraphNode&) const = default;
};

// Where pointers are besides blocks. The numbers are part of the format.
enum class RootKind : std::uint8_t {
  data = 0,           // variables of a module
  stack = 1,          // of a thread
  registers = 2,      // of a thread
  thread_local_ = 3,  // variables of a thread
  mapping = 4,        // memory that the program mapped itself
  older_blocks = 5,   // memory of an allocator, with blocks that the recording does not have
  young = 6,          // no pointer: the block was allocated just before, its pointer may be on its way
  moving = 7,         // of a running process: an earlier copy had a pointer, or a block that was freed since
};
inline constexpr std::uint8_t last_root_kind = 7;

struct GraphRoot {
  RootKind kind = RootKind::data;
  std::uint64_t thread_id = 0;  // as the kernel numbers it; 0: of no thread
  std::string module;           // path of the object, or name of the mapping
  std::string symbol;           // of the variable; empty: not known
  std::uint32_t stack = 0;      // of the call that mapped a mapping; 0: not known
  bool operator==(const GraphRoot&) const = default;
};

// A pointer. Numbers below the number of nodes are blocks, the others roots.
struct GraphEdge {
  GraphEdge() = default;
  GraphEdge(std::uint32_t begins, std::uint32_t ends, std::uint64_t at, bool is_inside)
      : from(begins), to(ends), offset(at & (UINT64_MAX >> 1U)), is_interior(is_inside ? 1 : 0) {}

  std::uint32_t from = 0;
  std::uint32_t to = 0;               // a block
  std::uint64_t offset : 63 = 0;      // of the pointer in `from`; 0 for roots
  std::uint64_t is_interior : 1 = 0;  // it points into the block, not to its begin
  bool operator==(const GraphEdge&) const = default;
};

// Of ChunkKind.
inline constexpr std::uint16_t heap_graph_chunk = 17;

struct HeapGraph {
  std::uint64_t time_ns = 0;
  std::uint64_t stopped_ns = 0;  // how long the process stood still
  // Of a process that ran meanwhile: how many copies were compared (0: it stood still), and how many blocks
  // the last two had pointers to that no copy before had.
  std::uint64_t copies = 0;
  std::uint64_t missed_blocks = 0;
  std::vector<GraphNode> nodes;    // by address
  std::vector<std::string> types;  // classes with a virtual table
  std::vector<std::uint32_t>
      type_of;  // by node: 0 = not known, else 1 + the place in `types`; empty: of none
  std::vector<GraphRoot> roots;
  std::vector<GraphEdge> edges;  // by `from`
};

// Which records a chunk has: ChunkHeader::thread.
enum class GraphPart : std::uint8_t { summary = 0, nodes = 1, roots = 2, edges = 3, types = 4 };

// More is not written.
inline constexpr std::uint32_t max_graph_nodes = 1U << 27U;
inline constexpr std::uint32_t max_graph_roots = 1U << 16U;
inline constexpr std::uint32_t max_graph_types = 1U << 16U;
inline constexpr std::uint64_t max_graph_edges = 1ULL << 29U;

// Before compression; each chunk can be decoded alone. The summary is the graph's numbers of records: a graph
// with fewer is incomplete.
void encode_summary(const HeapGraph& graph, Bytes& out);
void encode_records(std::span<const GraphNode> nodes, Bytes& out);
void encode_records(std::span<const GraphRoot> roots, Bytes& out);
void encode_records(std::span<const GraphEdge> edges, Bytes& out);
// Blocks of one type, ascending.
struct GraphType {
  std::string name;
  std::vector<std::uint32_t> nodes;
};
void encode_records(std::span<const GraphType> types, Bytes& out);

// What the summary promises.
struct GraphCounts {
  std::uint64_t stopped_ns = 0;
  std::uint64_t nodes = 0;
  std::uint64_t roots = 0;
  std::uint64_t edges = 0;
  std::uint64_t copies = 0;
  std::uint64_t missed_blocks = 0;
};

// Each throws TraceError if the bytes are invalid, and appends to the graph.
GraphCounts decode_summary(base::ByteSource source);
void decode_nodes(base::ByteSource source, std::uint32_t count, HeapGraph& graph);
void decode_roots(base::ByteSource source, std::uint32_t count, HeapGraph& graph);
void decode_edges(base::ByteSource source, std::uint32_t count, HeapGraph& graph);
// A name may come several times. Nodes must have been decoded before.
void decode_types(base::ByteSource source, std::uint32_t count, HeapGraph& graph);
// Throws TraceError unless every number in the graph is valid, and it has what was promised. `stacks`: how
// many stacks there are; a node with another one gets none.
void check_graph(const GraphCounts& promised, std::uint64_t stacks, HeapGraph& graph);

// Its stacks must have been written before. False as for other calls of the writer.
bool write_heap_graph(const HeapGraph& graph, Writer& writer);
// When the snapshots were taken that are whole, in this order.
std::vector<std::uint64_t> heap_graph_times(const Reader& reader);
// The snapshot of that time. Throws TraceError if it is damaged.
HeapGraph read_heap_graph(const Reader& reader, std::uint64_t time_ns);

}  // namespace heapwright::trace
