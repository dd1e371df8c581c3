// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string_view>

#include "trace/record_codec.hpp"

namespace heapwright::trace {

namespace {

void put(Bytes& out, std::uint64_t value) {
  std::uint8_t bytes[base::max_varint_bytes];
  out.insert(out.end(), bytes, base::put_varint(bytes, value));
}

void put_signed(Bytes& out, std::int64_t value) { put(out, base::zigzag_encode(value)); }

void put_text(Bytes& out, std::string_view text) {
  text = text.substr(0, max_text_bytes);
  put(out, text.size());
  out.insert(out.end(), text.begin(), text.end());
}

void put_record(Bytes& out, const Bytes& record) {
  put(out, record.size());
  out.insert(out.end(), record.begin(), record.end());
}

void put_entry(Bytes& out, MetadataKey key, std::string_view text) {
  put(out, static_cast<std::uint64_t>(key));
  put_text(out, text);
}

void put_entry(Bytes& out, MetadataKey key, std::uint64_t value) {
  Bytes number;
  put(number, value);
  put(out, static_cast<std::uint64_t>(key));
  put_record(out, number);
}

}  // namespace

void encode_records(const Metadata& metadata, Bytes& out) {
  put_entry(out, MetadataKey::program, metadata.program);
  put_entry(out, MetadataKey::command, metadata.command);
  put_entry(out, MetadataKey::host, metadata.host);
  put_entry(out, MetadataKey::allocator, metadata.allocator);
  put_entry(out, MetadataKey::recorder_version, metadata.recorder_version);
  put_entry(out, MetadataKey::process_id, metadata.process_id);
  put_entry(out, MetadataKey::parent_process_id, metadata.parent_process_id);
  put_entry(out, MetadataKey::start_unix_ns, metadata.start_unix_ns);
  put_entry(out, MetadataKey::page_bytes, metadata.page_bytes);
  put_entry(out, MetadataKey::sample_mean_bytes, metadata.sample_mean_bytes);
  put_entry(out, MetadataKey::durations_recorded, metadata.durations_recorded ? 1U : 0U);
  put_entry(out, MetadataKey::free_stacks_recorded, metadata.free_stacks_recorded ? 1U : 0U);
  put_entry(out, MetadataKey::self_cost_allocation_ns, metadata.self_cost_allocation_ns);
  put_entry(out, MetadataKey::self_cost_release_ns, metadata.self_cost_release_ns);
  for (const std::string& note : metadata.notes) put_entry(out, MetadataKey::note, note);
  for (const std::string& line : metadata.unseen) put_entry(out, MetadataKey::unseen, line);
  if (metadata.is_fork_child) put_entry(out, MetadataKey::is_fork_child, 1U);
  for (const std::string& process : metadata.unrecorded_processes)
    put_entry(out, MetadataKey::unrecorded_process, process);
  if (metadata.children_left_alone != 0)
    put_entry(out, MetadataKey::children_left_alone, metadata.children_left_alone);
  for (const std::string& line : metadata.conditions) put_entry(out, MetadataKey::condition, line);
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
  Bytes record;
  for (const Module& module : modules) {
    record.clear();
    put(record, module.start);
    put(record, module.end);
    put(record, module.bias);
    put(record, module.loaded_ns);
    put(record, module.unloaded_ns);
    put_text(record, module.path);
    put_text(record, module.build_id);
    put_record(out, record);
  }
}

void encode_records(std::span<const Thread> threads, Bytes& out) {
  Bytes record;
  for (const Thread& thread : threads) {
    record.clear();
    put(record, thread.index);
    put(record, thread.thread_id);
    put_text(record, thread.name);
    put(record, thread.first_ns);
    put(record, thread.exit_ns);
    put(record, thread.events);
    put(record, thread.dropped);
    put(record, thread.waited_ns);
    put(record, thread.stack_address);
    put_record(out, record);
  }
}

void encode_records(std::span<const MemorySample> samples, Bytes& out) {
  Bytes record;
  for (const MemorySample& sample : samples) {
    record.clear();
    put(record, sample.time_ns);
    put(record, sample.resident_anonymous_bytes);
    put(record, sample.resident_file_bytes);
    put(record, sample.swapped_bytes);
    put(record, sample.recorder_bytes);
    put(record, sample.resident_shared_bytes);
    put_record(out, record);
  }
}

void encode_records(std::span<const Switch> switches, Bytes& out) {
  Bytes record;
  for (const Switch& change : switches) {
    record.clear();
    put(record, change.time_ns);
    put(record, std::uint64_t{change.is_on ? 1U : 0U});
    put_record(out, record);
  }
}

void encode_records(const End& end, Bytes& out) {
  Bytes record;
  put(record, static_cast<std::uint64_t>(end.reason));
  put_signed(record, end.status);
  put(record, end.time_ns);
  put(record, end.events);
  put(record, end.dropped);
  put(record, end.recorder_peak_bytes);
  put_record(out, record);
}

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
