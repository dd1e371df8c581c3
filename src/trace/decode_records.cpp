// SPDX-License-Identifier: MIT
#include <limits>
#include <type_traits>

#include "trace/record_codec.hpp"
#include "trace/record_fields.hpp"

namespace heapwright::trace {

namespace {

struct GetField {
  base::ByteSource& record;
  void operator()(const char*, std::string& text) const { text = text_field(record); }
  template <typename Value>
  void operator()(const char*, Value& value) const {
    if constexpr (std::is_same_v<Value, bool>) {
      value = field(record) != 0;
    } else if constexpr (std::is_enum_v<Value>) {
      value = static_cast<Value>(narrow_field<std::underlying_type_t<Value>>(record));
    } else if constexpr (std::is_signed_v<Value>) {
      value = narrow_signed_field<Value>(record);
    } else {
      value = narrow_field<Value>(record);
    }
  }
};

template <typename Record>
Record get_fields(base::ByteSource& source) {
  base::ByteSource record = next_record(source);
  Record of;
  fields(of, GetField{record});
  require_read(record);
  return of;
}

template <typename Record>
std::vector<Record> get_records(base::ByteSource& source, std::uint32_t count) {
  require_count(source, count);
  std::vector<Record> records;
  records.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) records.push_back(get_fields<Record>(source));
  return records;
}

// Sets the field with this key.
struct SetEntry {
  std::uint64_t key;
  std::string_view value;
  std::uint64_t& at;
  template <typename Field>
  void operator()(const char* name, Field& of) const {
    if (++at != key) return;
    if constexpr (std::is_same_v<Field, std::string>) {
      of = value;
    } else if constexpr (std::is_same_v<Field, std::vector<std::string>>) {
      if (of.size() < max_notes) of.emplace_back(value);
    } else {
      base::ByteSource number(reinterpret_cast<const std::uint8_t*>(value.data()), value.size());
      GetField{number}(name, of);
      require_read(number);
    }
  }
};

}  // namespace

Metadata decode_metadata(base::ByteSource source, std::uint32_t) {
  Metadata metadata;
  while (source.remaining() > 0) {
    const std::uint64_t key = source.varint();
    const std::string_view value = source.text();
    require(!source.has_failed() && value.size() <= max_text_bytes, "the metadata is cut short");
    std::uint64_t at = 0;
    fields(metadata, SetEntry{key, value, at});
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
    require(distance > 0 && distance <= id, "a call stack names a caller that does not exist");
    require(frame <= std::numeric_limits<std::uint32_t>::max(), "a call stack names an impossible frame");
    node = {static_cast<std::uint32_t>(id - distance), static_cast<std::uint32_t>(frame)};
    ++id;
  }
  require_read(source);
  return stacks;
}

std::vector<Module> decode_modules(base::ByteSource source, std::uint32_t count) {
  return get_records<Module>(source, count);
}

std::vector<Thread> decode_threads(base::ByteSource source, std::uint32_t count) {
  return get_records<Thread>(source, count);
}

std::vector<MemorySample> decode_memory_samples(base::ByteSource source, std::uint32_t count) {
  return get_records<MemorySample>(source, count);
}

std::vector<Switch> decode_switches(base::ByteSource source, std::uint32_t count) {
  return get_records<Switch>(source, count);
}

std::vector<ProcessorSample> decode_processor_samples(base::ByteSource source, std::uint32_t count) {
  return get_records<ProcessorSample>(source, count);
}

std::vector<RefaultRun> decode_refaults(base::ByteSource source, std::uint32_t count) {
  return get_records<RefaultRun>(source, count);
}

std::vector<PythonFrame> decode_python_frames(base::ByteSource source, std::uint32_t count) {
  return get_records<PythonFrame>(source, count);
}

std::vector<CodeName> decode_code_names(base::ByteSource source, std::uint32_t count) {
  return get_records<CodeName>(source, count);
}

std::vector<NamedObject> decode_named_objects(base::ByteSource source, std::uint32_t count) {
  return get_records<NamedObject>(source, count);
}

std::vector<AllocatedType> decode_allocated_types(base::ByteSource source, std::uint32_t count) {
  return get_records<AllocatedType>(source, count);
}

End decode_end(base::ByteSource source, std::uint32_t) {
  const End end = get_fields<End>(source);
  require(end.reason <= EndReason::still_running, "the end mark holds an unknown reason");
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
