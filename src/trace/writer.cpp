// SPDX-License-Identifier: MIT
// length: one function for each kind of chunk
#include "trace/writer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "trace/block.hpp"
#include "trace/encode_events.hpp"
#include "trace/format.hpp"
#include "trace/output_file.hpp"
#include "trace/record_codec.hpp"

namespace heapwright::trace {

namespace {

template <typename Piece>
std::span<const std::uint8_t> bytes_of(const Piece& piece) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(&piece), sizeof piece};
}

bool has_equal_columns(const EventBatch& batch) noexcept {
  const std::size_t count = batch.count();
  return batch.alignment_log2.size() == count && batch.duration_ns.size() == count &&
         batch.stack.size() == count && batch.begin_ns.size() == count && batch.size.size() == count &&
         batch.usable.size() == count && batch.address.size() == count && batch.old_address.size() == count;
}

// Completes the header, for which the chunk has room, from its payload.
void seal(ChunkHeader& header, Bytes& chunk) {
  const std::span<const std::uint8_t> payload = std::span(chunk).subspan(sizeof header);
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_crc = base::crc32c(payload.data(), payload.size());
  header.header_crc = crc_of(header);
  std::memcpy(chunk.data(), &header, sizeof header);
}

// Buffers for building a chunk; no content outlives a call. One per thread, because a collector has a writer
// for each of many processes.
struct Workbench {
  BlockPacker packer;
  std::unique_ptr<BlockPacker> names_packer;  // few writers have names
  std::unique_ptr<EventEncoder> events;       // for batches; created when needed
  Bytes chunk;                                // header and payload of the current chunk
  Bytes records;                              // its records before compression
};

Workbench& workbench() {
  thread_local Workbench of_this_thread;
  return of_this_thread;
}

}  // namespace

struct Writer::State {
  OutputFile file;
  Bytes index;  // entries of the chunks written so far
  std::uint32_t index_entries = 0;
  std::uint64_t last_entry_offset = 0;
  std::uint32_t next_frame = 0;
  std::uint32_t next_stack = 1;
  std::unordered_map<std::uint32_t, std::uint64_t> last_begin_ns;  // by thread
  int error = 0;

  bool append(std::span<const std::uint8_t> piece);
  bool append_indexed(const ChunkHeader& header, std::span<const std::uint8_t> chunk);
  // Takes a chunk that starts with room for its header.
  bool write_chunk(ChunkHeader header, Bytes& chunk);
  bool write_table(ChunkKind kind, const Bytes& records, std::uint32_t count, std::uint64_t first);
  // `header` has kind, count and the like; the rest is filled in.
  bool write_table(ChunkHeader header, const Bytes& records);
  bool write_index();
  bool write_tail(const End& end);

  // Calls encode(part, first id, records) for parts that fit into a chunk.
  template <typename Record, typename Encode>
  bool write_parts(ChunkKind kind, std::span<const Record> all, std::uint64_t first, Encode encode) {
    constexpr bool has_text = !std::is_trivially_copyable_v<Record>;
    static_assert(64 * 3 * max_text_bytes <= max_table_bytes);
    constexpr std::size_t part_records = has_text ? 64 : max_records_per_chunk;
    Bytes& records = workbench().records;
    while (!all.empty() && error == 0) {
      const auto part = all.first(std::min(all.size(), part_records));
      records.clear();
      encode(part, first, records);
      if (!write_table(kind, records, static_cast<std::uint32_t>(part.size()), first)) return false;
      all = all.subspan(part.size());
      first += part.size();
    }
    return error == 0;
  }
};

bool Writer::State::append(std::span<const std::uint8_t> piece) {
  const int failure = file.append(piece);
  if (failure != 0) error = failure;
  return failure == 0;
}

bool Writer::State::write_chunk(ChunkHeader header, Bytes& chunk) {
  seal(header, chunk);
  return append_indexed(header, chunk);
}

bool Writer::State::append_indexed(const ChunkHeader& header, std::span<const std::uint8_t> chunk) {
  const std::uint64_t offset = file.bytes();
  if (!append(chunk)) return false;
  encode_index_entry({offset, chunk.size(), header}, last_entry_offset, index);
  last_entry_offset = offset;
  ++index_entries;
  return true;
}

bool Writer::State::write_table(ChunkKind kind, const Bytes& records, std::uint32_t count,
                                std::uint64_t first) {
  ChunkHeader header;
  header.kind = static_cast<std::uint16_t>(kind);
  header.count = count;
  header.first = first;
  return write_table(header, records);
}

bool Writer::State::write_table(ChunkHeader header, const Bytes& records) {
  if (error != 0) return false;
  Bytes& chunk = workbench().chunk;
  chunk.assign(sizeof(ChunkHeader), 0);
  const bool is_names = header.kind == static_cast<std::uint16_t>(ChunkKind::names);
  std::unique_ptr<BlockPacker>& thorough = workbench().names_packer;
  if (is_names && thorough == nullptr) thorough = std::make_unique<BlockPacker>(Packing::thorough);
  (is_names ? *thorough : workbench().packer).pack(records, chunk);
  return write_chunk(header, chunk);
}

bool Writer::State::write_tail(const End& end) {
  Bytes& records = workbench().records;
  records.clear();
  encode_records(end, records);
  return write_table(ChunkKind::end, records, 1, 0) && write_index();
}

bool Writer::State::write_index() {
  Footer footer;
  footer.index_offset = file.bytes();
  footer.crc = crc_of(footer);
  const Bytes entries = std::move(index);
  return write_table(ChunkKind::index, entries, index_entries, 0) && append(bytes_of(footer));
}

Writer::Writer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Writer::~Writer() = default;

std::unique_ptr<Writer> Writer::create(const std::string& path, bool replace, int& error_number,
                                       int descriptor) {
  auto state = std::make_unique<State>();
  error_number = descriptor >= 0 ? state->file.write_to(descriptor) : state->file.create(path, replace);
  if (error_number != 0) return nullptr;
  FileHeader header;
  header.crc = crc_of(header);
  error_number = state->file.append(bytes_of(header));
  if (error_number != 0) return nullptr;
  return std::unique_ptr<Writer>(new Writer(std::move(state)));
}

bool Writer::write(const Metadata& metadata) {
  Bytes& records = workbench().records;
  records.clear();
  encode_records(metadata, records);
  return state_->write_table(ChunkKind::metadata, records, 1, 0);
}

bool Writer::write(std::span<const Frame> frames) {
  State& state = *state_;
  const std::uint32_t first = state.next_frame;
  state.next_frame += static_cast<std::uint32_t>(frames.size());
  return state.write_parts(ChunkKind::frames, frames, first,
                           [](auto part, std::uint64_t, Bytes& out) { encode_records(part, out); });
}

bool Writer::write(std::span<const StackNode> stacks) {
  State& state = *state_;
  const std::uint32_t first = state.next_stack;
  state.next_stack += static_cast<std::uint32_t>(stacks.size());
  return state.write_parts(ChunkKind::stacks, stacks, first, [](auto part, std::uint64_t id, Bytes& out) {
    encode_records(part, static_cast<std::uint32_t>(id), out);
  });
}

bool Writer::write(std::span<const Module> modules) {
  return state_->write_parts(ChunkKind::modules, modules, 0,
                             [](auto part, std::uint64_t, Bytes& out) { encode_records(part, out); });
}

bool Writer::write(std::span<const Thread> threads) {
  return state_->write_parts(ChunkKind::threads, threads, 0,
                             [](auto part, std::uint64_t, Bytes& out) { encode_records(part, out); });
}

bool Writer::write(std::span<const MemorySample> samples) {
  return state_->write_parts(ChunkKind::memory_samples, samples, 0,
                             [](auto part, std::uint64_t, Bytes& out) { encode_records(part, out); });
}

bool Writer::write(std::span<const Switch> switches) {
  return state_->write_parts(ChunkKind::switches, switches, 0,
                             [](auto part, std::uint64_t, Bytes& out) { encode_records(part, out); });
}

bool Writer::write(std::span<const ProcessorSample> samples) {
  return state_->write_parts(ChunkKind::processor_samples, samples, 0,
                             [](auto part, std::uint64_t, Bytes& out) { encode_records(part, out); });
}

bool Writer::write(std::span<const RefaultRun> runs) {
  return state_->write_parts(ChunkKind::refaults, runs, 0,
                             [](auto part, std::uint64_t, Bytes& out) { encode_records(part, out); });
}

bool Writer::write(std::span<const PythonFrame> frames) {
  return state_->write_parts(ChunkKind::python_frames, frames, 0,
                             [](auto part, std::uint64_t, Bytes& out) { encode_records(part, out); });
}

bool Writer::write(std::span<const CodeName> names) {
  return state_->write_parts(ChunkKind::code_names, names, 0,
                             [](auto part, std::uint64_t, Bytes& out) { encode_records(part, out); });
}

bool Writer::write(const EmbeddedNames& names) {
  State& state = *state_;
  const std::size_t frames = names.first_location.empty() ? 0 : names.first_location.size() - 1;
  std::uint64_t all_bytes = 0;
  Bytes& records = workbench().records;
  // At least one chunk: it shows that no other names need to be looked up.
  for (std::uint32_t first = 0; first == 0 || first < frames;) {
    records.clear();
    const std::uint32_t count = encode_names(names, first, records);
    all_bytes += records.size();
    if (all_bytes > max_names_bytes) state.error = EFBIG;  // a reader would reject them
    if (!state.write_table(ChunkKind::names, records, count, first)) return false;
    if (count == 0) break;
    first += count;
  }
  const auto encode = [](auto part, std::uint64_t, Bytes& out) { encode_records(part, out); };
  return state.write_parts(ChunkKind::named_objects, std::span<const NamedObject>(names.objects), 0,
                           encode) &&
         state.write_parts(ChunkKind::allocated_types, std::span<const AllocatedType>(names.types), 0,
                           encode);
}

bool Writer::write_mappings(std::uint32_t number, std::span<const Mapping> mappings) {
  Bytes& records = workbench().records;
  records.clear();
  mappings = mappings.first(std::min<std::size_t>(mappings.size(), max_mappings));
  encode_records(mappings, records);
  if (records.size() > max_table_bytes) return state_->error == 0;  // a reader would reject it
  ChunkHeader header;
  header.kind = static_cast<std::uint16_t>(ChunkKind::mappings);
  header.count = static_cast<std::uint32_t>(mappings.size());
  header.thread = number;
  return state_->write_table(header, records);
}

bool Writer::write_scan(std::uint32_t mappings, std::uint64_t begin_ns, std::uint64_t end_ns,
                        const ResidencyScan& scan) {
  Bytes& records = workbench().records;
  records.clear();
  encode_records(scan, begin_ns, records);
  if (records.size() > max_table_bytes) return state_->error == 0;
  ChunkHeader header;
  header.kind = static_cast<std::uint16_t>(ChunkKind::residency);
  header.count = static_cast<std::uint32_t>(scan.windows.size() + 1);
  header.thread = mappings;
  header.first = scan.resident_bytes();
  header.first_begin_ns = begin_ns;
  header.last_end_ns = end_ns;
  return state_->write_table(header, records);
}

bool Writer::write_events(std::uint32_t thread, std::uint64_t first_sequence, const EventBatch& batch) {
  State& state = *state_;
  if (state.error != 0) return false;
  if (batch.count() > max_events_per_chunk || thread >= max_threads || !has_equal_columns(batch)) {
    state.error = EINVAL;
    return false;
  }
  if (batch.count() == 0) return true;
  std::unique_ptr<EventEncoder>& events = workbench().events;
  if (events == nullptr) events = std::make_unique<EventEncoder>();
  std::uint64_t& last_begin_ns = state.last_begin_ns[thread];
  events->start(last_begin_ns);
  events->add(batch);
  last_begin_ns = events->last_begin_ns();
  return write_events(thread, first_sequence, *events);
}

bool Writer::write_events(std::uint32_t thread, std::uint64_t first_sequence, const EventEncoder& events) {
  State& state = *state_;
  if (state.error != 0) return false;
  if (thread >= max_threads) {
    state.error = EINVAL;
    return false;
  }
  if (events.count() == 0) return true;
  Bytes& chunk = workbench().chunk;
  chunk.assign(sizeof(ChunkHeader), 0);
  const EncodedTimes times = events.finish(workbench().packer, chunk);
  ChunkHeader header;
  header.kind = static_cast<std::uint16_t>(ChunkKind::events);
  header.count = events.count();
  header.thread = thread;
  header.first = first_sequence;
  header.first_begin_ns = times.first_begin_ns;
  header.last_end_ns = times.last_end_ns;
  return state.write_chunk(header, chunk);
}

bool Writer::finish(const End& end) {
  State& state = *state_;
  if (!state.file.is_open()) return false;
  const int failure = state.error;
  // The chunk that did not fit was truncated, so there is room for the end mark.
  End mark = end;
  if (failure != 0) {
    mark.reason = EndReason::write_failed;
    mark.status = failure;
    state.error = 0;
  }
  state.write_tail(mark);
  const int close_failure = state.file.close();
  if (state.error == 0) state.error = close_failure;
  if (failure != 0) state.error = failure;
  return state.error == 0;
}

bool Writer::write_copied(const ChunkHeader& header, std::span<const std::uint8_t> chunk) {
  State& state = *state_;
  const auto next = static_cast<std::uint32_t>(header.first + header.count);
  if (header.kind == static_cast<std::uint16_t>(ChunkKind::frames)) state.next_frame = next;
  if (header.kind == static_cast<std::uint16_t>(ChunkKind::stacks)) state.next_stack = next;
  return state.error == 0 && state.append_indexed(header, chunk);
}

bool Writer::write_copied(std::span<const std::uint8_t> bytes) {
  return state_->error == 0 && state_->append(bytes);
}

bool Writer::finish_copy(bool has_index) {
  State& state = *state_;
  if (has_index && state.error == 0) state.write_index();
  const int close_failure = state.file.close();
  if (state.error == 0) state.error = close_failure;
  return state.error == 0;
}

Bytes end_chunk_of(const End& end) {
  Bytes& records = workbench().records;
  records.clear();
  encode_records(end, records);
  Bytes chunk(sizeof(ChunkHeader), 0);
  workbench().packer.pack(records, chunk);
  ChunkHeader header;
  header.kind = static_cast<std::uint16_t>(ChunkKind::end);
  header.count = 1;
  seal(header, chunk);
  return chunk;
}

std::uint64_t Writer::bytes_written() const noexcept { return state_->file.bytes(); }
int Writer::error_number() const noexcept { return state_->error; }

}  // namespace heapwright::trace
