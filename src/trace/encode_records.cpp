// SPDX-License-Identifier: MIT
#include <type_traits>

#include "trace/put_fields.hpp"
#include "trace/record_codec.hpp"

namespace heapwright::trace {

namespace {

void put_signed(Bytes& out, std::int64_t value) { put(out, base::zigzag_encode(value)); }

struct PutField {
  Bytes& out;
  void operator()(const char*, const std::string& text) const { put_text(out, text); }
  template <typename Value>
  void operator()(const char*, Value value) const {
    if constexpr (std::is_signed_v<Value>) {
      put_signed(out, value);
    } else {
      put(out, static_cast<std::uint64_t>(value));
    }
  }
};

template <typename Record>
void put_fields(Bytes& out, const Record& of) {
  Bytes record;
  fields(of, PutField{record});
  put_record(out, record);
}

// Fields of which metadata holds several have one entry per value.
struct PutEntries {
  Bytes& out;
  std::uint64_t& key;
  void operator()(const char*, const std::string& text) const {
    put(out, ++key);
    put_text(out, text);
  }
  void operator()(const char*, const std::vector<std::string>& texts) const {
    ++key;
    for (const std::string& text : texts) {
      put(out, key);
      put_text(out, text);
    }
  }
  void operator()(const char*, std::uint64_t value) const {
    Bytes number;
    put(number, value);
    put(out, ++key);
    put_record(out, number);
  }
};

}  // namespace

void encode_records(const Metadata& metadata, Bytes& out) {
  std::uint64_t key = 0;
  fields(metadata, PutEntries{out, key});
}

void encode_records(std::span<const Frame> frames, Bytes& out) {
  std::uint64_t last_pc = 0;
  for (const Frame& frame : frames) {
    put_signed(out, static_cast<std::int64_t>(frame.pc - last_pc));
    put(out, (static_cast<std::uint64_t>(frame.module + 1U) << 1U) | (frame.is_exact ? 1U : 0U));
    last_pc = frame.pc;
  }
}

void encode_records(std::span<const StackNode> stacks, std::uint32_t first_id, Bytes& out) {
  std::int64_t last_frame = 0;
  std::uint64_t id = first_id;
  for (const StackNode& node : stacks) {
    put(out, id++ - node.parent);
    put_signed(out, node.frame - last_frame);
    last_frame = node.frame;
  }
}

void encode_records(std::span<const Module> modules, Bytes& out) {
  for (const Module& module : modules) put_fields(out, module);
}

void encode_records(std::span<const Thread> threads, Bytes& out) {
  for (const Thread& thread : threads) put_fields(out, thread);
}

void encode_records(std::span<const MemorySample> samples, Bytes& out) {
  for (const MemorySample& sample : samples) put_fields(out, sample);
}

void encode_records(std::span<const Switch> switches, Bytes& out) {
  for (const Switch& change : switches) put_fields(out, change);
}

void encode_records(std::span<const ProcessorSample> samples, Bytes& out) {
  for (const ProcessorSample& sample : samples) put_fields(out, sample);
}

void encode_records(std::span<const RefaultRun> runs, Bytes& out) {
  for (const RefaultRun& run : runs) put_fields(out, run);
}

void encode_records(std::span<const PythonFrame> frames, Bytes& out) {
  for (const PythonFrame& frame : frames) put_fields(out, frame);
}

void encode_records(std::span<const CodeName> names, Bytes& out) {
  for (const CodeName& name : names) put_fields(out, name);
}

void encode_records(std::span<const NamedObject> objects, Bytes& out) {
  for (const NamedObject& object : objects) put_fields(out, object);
}

void encode_records(std::span<const AllocatedType> types, Bytes& out) {
  for (const AllocatedType& type : types) put_fields(out, type);
}

void encode_records(const End& end, Bytes& out) { put_fields(out, end); }

void encode_index_entry(const IndexEntry& entry, std::uint64_t previous_offset, Bytes& out) {
  Bytes record;
  put(record, entry.file_offset - previous_offset);
  put(record, entry.chunk_bytes);
  put(record, entry.header.kind);
  put(record, entry.header.count);
  put(record, entry.header.thread);
  put(record, entry.header.first);
  put(record, entry.header.first_begin_ns);
  put(record, entry.header.last_end_ns);
  put_record(out, record);
}

}  // namespace heapwright::trace
