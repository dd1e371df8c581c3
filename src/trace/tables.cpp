// SPDX-License-Identifier: MIT
#include "trace/tables.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "trace/chunk_map.hpp"

namespace heapwright::trace {

namespace {

std::string_view name_of_table(std::uint16_t kind) noexcept {
  switch (static_cast<ChunkKind>(kind)) {
    case ChunkKind::metadata:
      return "the description of the recording";
    case ChunkKind::frames:
      return "a table of program counters";
    case ChunkKind::stacks:
      return "a table of call stacks";
    case ChunkKind::modules:
      return "a table of loaded objects";
    case ChunkKind::threads:
      return "a table of threads";
    case ChunkKind::memory_samples:
      return "a table of memory samples";
    case ChunkKind::switches:
      return "the list of pauses";
    case ChunkKind::processor_samples:
      return "a table of processor time";
    case ChunkKind::refaults:
      return "a table of page faults";
    case ChunkKind::python_frames:
      return "a table of Python frames";
    case ChunkKind::code_names:
      return "a table of names of code made at run time";
    case ChunkKind::names:
    case ChunkKind::named_objects:
      return "a table of names";
    case ChunkKind::allocated_types:
      return "a table of types";
    case ChunkKind::end:
      return "the end mark";
    default:
      return {};
  }
}

template <typename Record>
void append(const std::vector<Record>& records, std::size_t most, std::vector<Record>& to) {
  if (records.size() > most - to.size()) throw TraceError("it holds more records than any recorder's");
  to.insert(to.end(), records.begin(), records.end());
}

// Makes room for the ids up to `end`, if that is allowed; false otherwise.
template <typename Record>
bool fill_up_to(std::vector<Record>& table, std::uint64_t end, std::uint64_t limit, const Record& filler) {
  if (end > limit) return false;
  if (table.size() < end) table.resize(static_cast<std::size_t>(end), filler);
  return true;
}

template <typename Record>
void append_at(std::vector<Record>& table, std::uint64_t first, const std::vector<Record>& records,
               std::uint64_t limit, const Record& filler) {
  if (first < table.size() || records.size() > limit ||
      !fill_up_to(table, first, limit - records.size(), filler)) {
    throw TraceError("its ids are impossible");
  }
  table.insert(table.end(), records.begin(), records.end());
}

constexpr Frame unknown_frame = {};
constexpr StackNode unknown_stack = {0, frame_truncated};

}  // namespace

void TableLoader::load(const IndexEntry& entry) {
  const std::string_view name = name_of_table(entry.header.kind);
  if (name.empty()) return;
  try {
    add(entry);
  } catch (const TraceError& error) {
    damage_.push_back({entry.file_offset, std::string(name) + " is unreadable: " + error.what()});
    const std::uint64_t count = std::min(entry.header.count, max_records_per_chunk);
    const std::uint64_t first = std::min<std::uint64_t>(entry.header.first, max_stacks);
    const auto kind = static_cast<ChunkKind>(entry.header.kind);
    if (kind == ChunkKind::frames) fill_up_to(tables_.frames, first + count, frames_below(), unknown_frame);
    if (kind == ChunkKind::stacks) fill_up_to(tables_.stacks, first + count, stacks_below(), unknown_stack);
  }
}

base::ByteSource TableLoader::unpack(const IndexEntry& entry) {
  return unpack(entry, unpacked_bytes_, max_tables_bytes);
}

base::ByteSource TableLoader::unpack(const IndexEntry& entry, std::uint64_t& unpacked_bytes,
                                     std::uint64_t limit) {
  const auto payload = read_chunk(file_, entry, chunk_);
  if (entry.header.count > max_records_per_chunk) throw TraceError("it claims too many records");
  base::ByteSource source(payload.data(), payload.size());
  const auto records = unpacker_.unpack(source, max_table_bytes, records_);
  unpacked_bytes += records.size();
  if (unpacked_bytes > limit) throw TraceError("the tables are larger than any recorder's");
  return {records.data(), records.size()};
}

void TableLoader::add(const IndexEntry& entry) {
  switch (static_cast<ChunkKind>(entry.header.kind)) {
    case ChunkKind::metadata:
      tables_.metadata = decode_metadata(unpack(entry), entry.header.count);
      break;
    case ChunkKind::frames:
      add_frames(entry);
      break;
    case ChunkKind::stacks:
      add_stacks(entry);
      break;
    case ChunkKind::modules:
      add_modules(entry);
      break;
    case ChunkKind::threads:
      add_threads(entry);
      break;
    case ChunkKind::memory_samples:
      append(decode_memory_samples(unpack(entry), entry.header.count), at_most(max_memory_samples),
             tables_.memory_samples);
      break;
    case ChunkKind::switches:
      append(decode_switches(unpack(entry), entry.header.count), at_most(max_switches), tables_.switches);
      break;
    case ChunkKind::processor_samples:
      append(decode_processor_samples(unpack(entry), entry.header.count), at_most(max_processor_samples),
             tables_.processor_samples);
      break;
    case ChunkKind::refaults:
      append(decode_refaults(unpack(entry), entry.header.count), at_most(max_refault_runs), tables_.refaults);
      break;
    case ChunkKind::python_frames:
      append(decode_python_frames(unpack(entry), entry.header.count), at_most(max_frames),
             tables_.python_frames);
      break;
    case ChunkKind::code_names:
      append(decode_code_names(unpack(entry), entry.header.count), at_most(max_frames), tables_.code_names);
      break;
    case ChunkKind::names:
      add_names(entry);
      break;
    case ChunkKind::named_objects:
      add_named_objects(entry);
      break;
    case ChunkKind::allocated_types:
      append(decode_allocated_types(unpack(entry, names_bytes_, max_names_bytes), entry.header.count),
             at_most(max_frames), tables_.names.types);
      break;
    case ChunkKind::end:
      tables_.end = decode_end(unpack(entry), entry.header.count);
      break;
    default:
      break;
  }
}

std::uint64_t TableLoader::frames_below() const noexcept { return ids_below(file_.bytes(), max_frames); }
std::uint64_t TableLoader::stacks_below() const noexcept { return ids_below(file_.bytes(), max_stacks); }
std::size_t TableLoader::at_most(std::uint32_t limit) const noexcept {
  return static_cast<std::size_t>(std::min<std::uint64_t>(limit, file_.bytes()));
}

void TableLoader::add_frames(const IndexEntry& entry) {
  const auto frames = decode_frames(unpack(entry), entry.header.count);
  append_at(tables_.frames, entry.header.first, frames, frames_below(), unknown_frame);
}

void TableLoader::add_stacks(const IndexEntry& entry) {
  const auto stacks = decode_stacks(unpack(entry), entry.header.count, entry.header.first);
  append_at(tables_.stacks, entry.header.first, stacks, stacks_below(), unknown_stack);
}

// A repeated module replaces itself: it was unloaded since.
void TableLoader::add_modules(const IndexEntry& entry) {
  auto modules = decode_modules(unpack(entry), entry.header.count);
  for (Module& module : modules) {
    const auto [place, is_new] =
        module_numbers_.try_emplace({module.start, module.loaded_ns}, tables_.modules.size());
    if (!is_new) {
      tables_.modules[place->second] = std::move(module);
    } else if (tables_.modules.size() < at_most(max_modules)) {
      tables_.modules.push_back(std::move(module));
    } else {
      throw TraceError("it names more objects than any recorder's");
    }
  }
}

void TableLoader::add_threads(const IndexEntry& entry) {
  auto threads = decode_threads(unpack(entry), entry.header.count);
  for (Thread& thread : threads) {
    if (thread.index >= threads_below(file_.bytes())) throw TraceError("a thread has an impossible number");
    for (std::size_t index = tables_.threads.size(); index <= thread.index; ++index) {
      tables_.threads.emplace_back().index = static_cast<std::uint32_t>(index);
    }
    tables_.threads[thread.index] = std::move(thread);
  }
}

void TableLoader::add_names(const IndexEntry& entry) {
  tables_.has_names = true;
  const Names names = decode_names(unpack(entry, names_bytes_, max_names_bytes), entry.header.count);
  if (entry.header.first > frames_below()) throw TraceError("its ids are impossible");
  append_names(tables_.names, entry.header.first, names);
}

void TableLoader::add_named_objects(const IndexEntry& entry) {
  auto objects = decode_named_objects(unpack(entry, names_bytes_, max_names_bytes), entry.header.count);
  if (objects.size() > at_most(max_modules) - tables_.names.objects.size()) {
    throw TraceError("it names more objects than any recorder's");
  }
  std::move(objects.begin(), objects.end(), std::back_inserter(tables_.names.objects));
}

void TableLoader::finish(std::size_t threads) {
  if (tables_.has_names) {
    EmbeddedNames& names = tables_.names;
    if (names.strings.empty()) names.strings.emplace_back();
    names.first_location.resize(tables_.frames.size() + 1,
                                static_cast<std::uint32_t>(names.locations.size()));
  }
  for (std::size_t index = tables_.threads.size(); index < threads; ++index) {
    tables_.threads.emplace_back().index = static_cast<std::uint32_t>(index);
  }
  for (Frame& frame : tables_.frames) {
    if (frame.module >= tables_.modules.size()) frame.module = Frame::no_module;
  }
  for (StackNode& node : tables_.stacks) {
    if (!is_mark(node.frame) && node.frame >= tables_.frames.size()) node.frame = frame_truncated;
  }
}

}  // namespace heapwright::trace
