// SPDX-License-Identifier: MIT
#include <limits>

#include "trace/record_codec.hpp"
#include "trace/record_fields.hpp"

namespace heapwright::trace {

namespace {

// What a trace says of other processes.
void set_process_entry(Metadata& metadata, MetadataKey key, std::string_view value,
                       base::ByteSource& number) {
  switch (key) {
    case MetadataKey::is_fork_child:
      metadata.is_fork_child = field(number) != 0;
      break;
    case MetadataKey::unrecorded_process:
      if (metadata.unrecorded_processes.size() < max_notes) metadata.unrecorded_processes.emplace_back(value);
      break;
    case MetadataKey::children_left_alone:
      metadata.children_left_alone = field(number);
      break;
    case MetadataKey::condition:
      if (metadata.conditions.size() < max_notes) metadata.conditions.emplace_back(value);
      break;
    default:
      break;
  }
}

void set_entry(Metadata& metadata, std::uint64_t key, std::string_view value) {
  base::ByteSource number(reinterpret_cast<const std::uint8_t*>(value.data()), value.size());
  const auto as_u32 = [&] { return narrow_field<std::uint32_t>(number); };
  if (key > std::numeric_limits<std::uint8_t>::max()) return;
  switch (static_cast<MetadataKey>(key)) {
    case MetadataKey::program:
      metadata.program = value;
      break;
    case MetadataKey::command:
      metadata.command = value;
      break;
    case MetadataKey::host:
      metadata.host = value;
      break;
    case MetadataKey::allocator:
      metadata.allocator = value;
      break;
    case MetadataKey::recorder_version:
      metadata.recorder_version = value;
      break;
    case MetadataKey::process_id:
      metadata.process_id = field(number);
      break;
    case MetadataKey::parent_process_id:
      metadata.parent_process_id = field(number);
      break;
    case MetadataKey::start_unix_ns:
      metadata.start_unix_ns = field(number);
      break;
    case MetadataKey::page_bytes:
      metadata.page_bytes = field(number);
      break;
    case MetadataKey::sample_mean_bytes:
      metadata.sample_mean_bytes = field(number);
      break;
    case MetadataKey::durations_recorded:
      metadata.durations_recorded = field(number) != 0;
      break;
    case MetadataKey::free_stacks_recorded:
      metadata.free_stacks_recorded = field(number) != 0;
      break;
    case MetadataKey::self_cost_allocation_ns:
      metadata.self_cost_allocation_ns = as_u32();
      break;
    case MetadataKey::self_cost_release_ns:
      metadata.self_cost_release_ns = as_u32();
      break;
    case MetadataKey::note:
      if (metadata.notes.size() < max_notes) metadata.notes.emplace_back(value);
      break;
    case MetadataKey::unseen:
      if (metadata.unseen.size() < max_notes) metadata.unseen.emplace_back(value);
      break;
    default:
      set_process_entry(metadata, static_cast<MetadataKey>(key), value, number);
      break;
  }
  require_read(number);
}

}  // namespace

Metadata decode_metadata(base::ByteSource source, std::uint32_t) {
  Metadata metadata;
  while (source.remaining() > 0) {
    const std::uint64_t key = source.varint();
    const std::string_view value = source.text();
    require(!source.has_failed() && value.size() <= max_text_bytes, "the metadata is cut short");
    set_entry(metadata, key, value);
  }
  return metadata;
}

std::vector<Frame> decode_frames(base::ByteSource source, std::uint32_t count) {
  require_count(source, count);
  std::vector<Frame> frames(count);
  std::uint64_t pc = 0;
  for (Frame& frame : frames) {
    pc += static_cast<std::uint64_t>(source.signed_varint());
    const std::uint64_t module_and_flag = source.varint();
    require(module_and_flag >> 33U == 0, "a frame names an impossible module");
    frame = {pc, static_cast<std::uint32_t>(module_and_flag >> 1U) - 1U, (module_and_flag & 1U) != 0};
  }
  require_read(source);
  return frames;
}

std::vector<StackNode> decode_stacks(base::ByteSource source, std::uint32_t count, std::uint64_t first_id) {
  require_count(source, count);
  std::vector<StackNode> stacks(count);
  std::uint64_t frame = 0;
  std::uint64_t id = first_id;
  for (StackNode& node : stacks) {
    const std::uint64_t distance = source.varint();
    frame += static_cast<std::uint64_t>(source.signed_varint());
    require(distance > 0 && distance <= id, "a call stack names a caller that is not there");
    require(frame <= std::numeric_limits<std::uint32_t>::max(), "a call stack names an impossible frame");
    node = {static_cast<std::uint32_t>(id - distance), static_cast<std::uint32_t>(frame)};
    ++id;
  }
  require_read(source);
  return stacks;
}

std::vector<Module> decode_modules(base::ByteSource source, std::uint32_t count) {
  require_count(source, count);
  std::vector<Module> modules(count);
  for (Module& module : modules) {
    base::ByteSource record = next_record(source);
    module.start = field(record);
    module.end = field(record);
    module.bias = field(record);
    module.loaded_ns = field(record);
    module.unloaded_ns = field(record);
    module.path = text_field(record);
    module.build_id = text_field(record);
    require_read(record);
  }
  return modules;
}

std::vector<Thread> decode_threads(base::ByteSource source, std::uint32_t count) {
  require_count(source, count);
  std::vector<Thread> threads(count);
  for (Thread& thread : threads) {
    base::ByteSource record = next_record(source);
    thread.index = narrow_field<std::uint32_t>(record);
    thread.thread_id = field(record);
    thread.name = text_field(record);
    thread.first_ns = field(record);
    thread.exit_ns = field(record);
    thread.events = field(record);
    thread.dropped = field(record);
    thread.waited_ns = field(record);
    thread.stack_address = field(record);
    require_read(record);
  }
  return threads;
}

std::vector<MemorySample> decode_memory_samples(base::ByteSource source, std::uint32_t count) {
  require_count(source, count);
  std::vector<MemorySample> samples(count);
  for (MemorySample& sample : samples) {
    base::ByteSource record = next_record(source);
    sample.time_ns = field(record);
    sample.resident_anonymous_bytes = field(record);
    sample.resident_file_bytes = field(record);
    sample.swapped_bytes = field(record);
    sample.recorder_bytes = field(record);
    sample.resident_shared_bytes = field(record);
    require_read(record);
  }
  return samples;
}

std::vector<Switch> decode_switches(base::ByteSource source, std::uint32_t count) {
  require_count(source, count);
  std::vector<Switch> switches(count);
  for (Switch& change : switches) {
    base::ByteSource record = next_record(source);
    change.time_ns = field(record);
    change.is_on = field(record) != 0;
    require_read(record);
  }
  return switches;
}

End decode_end(base::ByteSource source, std::uint32_t) {
  base::ByteSource record = next_record(source);
  End end;
  const auto reason = narrow_field<std::uint8_t>(record);
  require(reason <= static_cast<std::uint8_t>(EndReason::stopped), "the end mark holds an unknown reason");
  end.reason = static_cast<EndReason>(reason);
  const std::int64_t status = record.signed_varint();
  end.status = static_cast<std::int32_t>(status);
  end.time_ns = field(record);
  end.events = field(record);
  end.dropped = field(record);
  end.recorder_peak_bytes = field(record);
  require_read(record);
  require(status == end.status, "the end mark holds an impossible status");
  return end;
}

std::vector<IndexEntry> decode_index(base::ByteSource source, std::uint32_t count) {
  require_count(source, count);
  std::vector<IndexEntry> entries(count);
  std::uint64_t offset = 0;
  for (IndexEntry& entry : entries) {
    base::ByteSource record = next_record(source);
    offset += field(record);
    entry.file_offset = offset;
    entry.chunk_bytes = field(record);
    entry.header.kind = narrow_field<std::uint16_t>(record);
    entry.header.count = narrow_field<std::uint32_t>(record);
    entry.header.thread = narrow_field<std::uint32_t>(record);
    entry.header.first = field(record);
    entry.header.first_begin_ns = field(record);
    entry.header.last_end_ns = field(record);
    require_read(record);
  }
  return entries;
}

}  // namespace heapwright::trace
