// SPDX-License-Identifier: MIT
// The small tables of a trace as payloads: every record kind of records.hpp except events, and the index.
//
// Records that may gain fields are stored with their length, so that a reader skips unknown fields and uses
// defaults for missing ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/varint.hpp"
#include "trace/format.hpp"
#include "trace/names.hpp"
#include "trace/put_fields.hpp"
#include "trace/records.hpp"

namespace heapwright::trace {

// A chunk's entry in the index.
struct IndexEntry {
  std::uint64_t file_offset = 0;
  std::uint64_t chunk_bytes = 0;  // header included
  ChunkHeader header;             // without magic, lengths and checksums
};

// Each appends to `out`, before compression.
void encode_records(const Metadata& metadata, Bytes& out);
void encode_records(std::span<const Frame> frames, Bytes& out);
void encode_records(std::span<const StackNode> stacks, std::uint32_t first_id, Bytes& out);
void encode_records(std::span<const Module> modules, Bytes& out);
void encode_records(std::span<const Thread> threads, Bytes& out);
void encode_records(std::span<const MemorySample> samples, Bytes& out);
void encode_records(std::span<const Switch> switches, Bytes& out);
void encode_records(std::span<const ProcessorSample> samples, Bytes& out);
void encode_records(std::span<const RefaultRun> runs, Bytes& out);
void encode_records(std::span<const PythonFrame> frames, Bytes& out);
void encode_records(std::span<const CodeName> names, Bytes& out);
void encode_records(std::span<const NamedObject> objects, Bytes& out);
void encode_records(std::span<const AllocatedType> types, Bytes& out);
void encode_records(const End& end, Bytes& out);
// One entry of the index, after the one at `previous_offset`.
void encode_index_entry(const IndexEntry& entry, std::uint64_t previous_offset, Bytes& out);

// Each reads exactly `count` records. Throws TraceError if there are fewer or one is invalid. Frame and
// module numbers are not checked against other tables.
Metadata decode_metadata(base::ByteSource source, std::uint32_t count);
std::vector<Frame> decode_frames(base::ByteSource source, std::uint32_t count);
std::vector<StackNode> decode_stacks(base::ByteSource source, std::uint32_t count, std::uint64_t first_id);
std::vector<Module> decode_modules(base::ByteSource source, std::uint32_t count);
std::vector<Thread> decode_threads(base::ByteSource source, std::uint32_t count);
std::vector<MemorySample> decode_memory_samples(base::ByteSource source, std::uint32_t count);
std::vector<Switch> decode_switches(base::ByteSource source, std::uint32_t count);
std::vector<ProcessorSample> decode_processor_samples(base::ByteSource source, std::uint32_t count);
std::vector<RefaultRun> decode_refaults(base::ByteSource source, std::uint32_t count);
std::vector<PythonFrame> decode_python_frames(base::ByteSource source, std::uint32_t count);
std::vector<CodeName> decode_code_names(base::ByteSource source, std::uint32_t count);
std::vector<NamedObject> decode_named_objects(base::ByteSource source, std::uint32_t count);
std::vector<AllocatedType> decode_allocated_types(base::ByteSource source, std::uint32_t count);
End decode_end(base::ByteSource source, std::uint32_t count);
std::vector<IndexEntry> decode_index(base::ByteSource source, std::uint32_t count);

}  // namespace heapwright::trace
