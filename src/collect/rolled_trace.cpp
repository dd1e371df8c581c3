// SPDX-License-Identifier: MIT
#include "collect/rolled_trace.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "collect/living_events.hpp"
#include "collect/thinned_samples.hpp"
#include "trace/block.hpp"
#include "trace/event_rows.hpp"
#include "trace/format.hpp"
#include "trace/heap_graph.hpp"
#include "trace/record_codec.hpp"

namespace heapwright::collect {

using trace::ChunkHeader;
using trace::ChunkKind;
using trace::EventBatch;
using trace::EventChunk;

namespace {

// On each side of the cut-off time.
constexpr std::size_t most_memory_samples = 4096;

std::vector<EventChunk> by_begin(const trace::Reader& old) {
  std::vector<EventChunk> chunks = old.event_chunks();
  std::stable_sort(chunks.begin(), chunks.end(), [](const EventChunk& a, const EventChunk& b) {
    return a.first_begin_ns < b.first_begin_ns;
  });
  return chunks;
}

// The time from which the last chunks have this many bytes.
std::uint64_t begin_of_last(const std::vector<EventChunk>& chunks, std::uint64_t bytes,
                            std::uint64_t latest_ns) {
  std::uint64_t begin_ns = latest_ns;
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend() && chunk->bytes <= bytes; ++chunk) {
    bytes -= chunk->bytes;
    begin_ns = std::min(begin_ns, chunk->first_begin_ns);
  }
  return begin_ns;
}

}  // namespace

// One attempt, with one cut-off time.
class RolledTrace::Making {
 public:
  Making(const trace::Reader& old, std::uint64_t from_ns, const RollLimits& limits,
         const std::atomic<bool>& is_given_up)
      : old_(old), from_ns_(from_ns), limits_(limits), is_given_up_(is_given_up) {}

  bool write(const std::vector<EventChunk>& chunks, const std::string& path, RolledTrace& rolled);

 private:
  bool find_living(const std::vector<EventChunk>& chunks);
  void write_tables(trace::Writer& writer) const;
  void write_thread(std::uint32_t thread, RolledTrace& rolled);
  void write_rest(const EventChunk& chunk, std::uint32_t number, RolledTrace& rolled);
  void write_batch(std::uint32_t number, RolledTrace& rolled);
  bool goes_on(const trace::Writer& writer) const {
    return !is_given_up_.load(std::memory_order_relaxed) && writer.error_number() == 0 &&
           writer.bytes_written() <= limits_.most_bytes;
  }

  const trace::Reader& old_;
  std::uint64_t from_ns_;
  const RollLimits& limits_;
  const std::atomic<bool>& is_given_up_;
  trace::DecodeScratch scratch_;
  EventBatch decoded_;
  EventBatch batch_;  // to be written
  std::vector<PlacedEvent> living_;
  std::vector<trace::Thread> records_;
  std::size_t next_living_ = 0;
  std::size_t next_chunk_ = 0;  // of the old trace, whose chunks are sorted by thread
};

bool RolledTrace::Making::find_living(const std::vector<EventChunk>& chunks) {
  LivingEvents living;
  for (const EventChunk& chunk : chunks) {
    if (chunk.first_begin_ns >= from_ns_) break;
    if (is_given_up_.load(std::memory_order_relaxed)) return false;
    living.pass(chunk.first_begin_ns);
    old_.decode(chunk, scratch_, decoded_);
    for (std::size_t i = 0; i < decoded_.count() && decoded_.begin_ns[i] < from_ns_; ++i) {
      living.add({event_at(decoded_, i), chunk.thread, chunk.first_sequence + i});
    }
  }
  living_ = living.take();
  return true;
}

void RolledTrace::Making::write_tables(trace::Writer& writer) const {
  writer.write(std::span<const trace::Module>(old_.modules()));
  writer.write(std::span<const trace::Frame>(old_.frames()));
  writer.write(std::span<const trace::PythonFrame>(old_.python_frames()));
  writer.write(std::span<const trace::StackNode>(old_.stacks()).subspan(1));
  writer.write(std::span<const trace::Switch>(old_.switches()));
  const auto is_before = [this](const auto& one) { return one.time_ns < from_ns_; };
  std::vector<trace::ProcessorSample> processor = old_.processor_samples();
  const auto kept_from = std::find_if_not(processor.begin(), processor.end(), is_before);
  // Only the base of what is forgotten.
  if (kept_from != processor.begin()) processor.erase(processor.begin() + 1, kept_from);
  writer.write(std::span<const trace::ProcessorSample>(processor));
  std::vector<trace::RefaultRun> refaults = old_.refaults();
  std::erase_if(refaults, is_before);
  writer.write(std::span<const trace::RefaultRun>(refaults));
  // The last snapshot: its blocks are known by themselves.
  const std::vector<std::uint64_t> snapshots = trace::heap_graph_times(old_);
  if (!snapshots.empty()) trace::write_heap_graph(trace::read_heap_graph(old_, snapshots.back()), writer);
  const std::span<const trace::MemorySample> samples = old_.memory_samples();
  const auto later = std::partition_point(samples.begin(), samples.end(),
                                          [this](const auto& sample) { return sample.time_ns < from_ns_; });
  const auto before = static_cast<std::size_t>(later - samples.begin());
  for (const auto part : {samples.first(before), samples.subspan(before)}) {
    const std::vector<trace::MemorySample> kept = thinned(part, most_memory_samples);
    writer.write(std::span<const trace::MemorySample>(kept));
  }
}

void RolledTrace::Making::write_batch(std::uint32_t number, RolledTrace& rolled) {
  std::uint64_t& events = rolled.thread_events_[number];
  rolled.writer_->write_events(number, events, batch_);
  events += batch_.count();
  batch_.clear();
}

// The part of a chunk after the cut-off time.
void RolledTrace::Making::write_rest(const EventChunk& chunk, std::uint32_t number, RolledTrace& rolled) {
  old_.decode(chunk, scratch_, decoded_);
  for (std::size_t i = 0; i < decoded_.count(); ++i) {
    if (decoded_.begin_ns[i] < from_ns_) continue;
    if (batch_.count() == trace::max_events_per_chunk) write_batch(number, rolled);
    append(batch_, event_at(decoded_, i));
  }
}

void RolledTrace::Making::write_thread(std::uint32_t thread, RolledTrace& rolled) {
  const std::uint32_t number = rolled.add_thread();
  for (; next_living_ < living_.size() && living_[next_living_].thread == thread; ++next_living_) {
    if (batch_.count() == trace::max_events_per_chunk) write_batch(number, rolled);
    append(batch_, living_[next_living_].event);
  }
  const std::vector<EventChunk>& chunks = old_.event_chunks();
  for (; next_chunk_ < chunks.size() && chunks[next_chunk_].thread == thread; ++next_chunk_) {
    const EventChunk& chunk = chunks[next_chunk_];
    if (chunk.first_begin_ns < from_ns_) {
      if (chunk.last_end_ns >= from_ns_) write_rest(chunk, number, rolled);
      continue;
    }
    write_batch(number, rolled);
    ChunkHeader header;
    const bool is_read = rolled.read_chunk(old_.file(), chunk.file_offset, header);
    if (!is_read) throw trace::TraceError("a chunk is unreadable");
    rolled.copy_events(header, number);
  }
  write_batch(number, rolled);
  trace::Thread record = old_.threads()[thread];
  const std::uint64_t events = rolled.thread_events_[number];
  // A thread with lost events must be kept, to report the loss.
  if (events == 0 && record.exit_ns != 0 && record.dropped == 0) {
    rolled.thread_events_.pop_back();
    return;
  }
  rolled.numbers_[thread] = number;
  record.index = number;
  record.events = events;
  records_.push_back(std::move(record));
}

bool RolledTrace::Making::write(const std::vector<EventChunk>& chunks, const std::string& path,
                                RolledTrace& rolled) {
  if (!find_living(chunks)) return false;
  int error = 0;
  rolled.writer_ = trace::Writer::create(path, true, error);
  if (rolled.writer_ == nullptr) return false;
  write_tables(*rolled.writer_);
  rolled.numbers_.assign(old_.threads().size(), no_thread);
  for (std::uint32_t thread = 0; thread < rolled.numbers_.size() && goes_on(*rolled.writer_); ++thread) {
    write_thread(thread, rolled);
  }
  rolled.writer_->write(std::span<const trace::Thread>(records_));
  trace::Metadata metadata = old_.metadata();
  metadata.forgotten_before_ns = from_ns_;
  metadata.forgotten_events += old_.event_count() - rolled.events();
  rolled.forgotten_before_ns_ = metadata.forgotten_before_ns;
  rolled.forgotten_events_ = metadata.forgotten_events;
  rolled.writer_->write(metadata);
  return goes_on(*rolled.writer_);
}

std::optional<RolledTrace> RolledTrace::make(const trace::Reader& old, const std::string& path,
                                             const RollLimits& limits, const std::atomic<bool>& is_given_up) {
  const std::vector<EventChunk> chunks = by_begin(old);
  // How much the live blocks take is known only after writing them.
  for (const std::uint64_t recent_bytes :
       {limits.most_bytes / 4 * 3, limits.most_bytes / 3, std::uint64_t{0}}) {
    const std::uint64_t from_ns = begin_of_last(chunks, recent_bytes, limits.latest_ns);
    RolledTrace rolled;
    Making making(old, std::max(from_ns, old.metadata().forgotten_before_ns), limits, is_given_up);
    if (making.write(chunks, path, rolled)) return rolled;
  }
  return std::nullopt;
}

std::uint32_t RolledTrace::add_thread() {
  thread_events_.push_back(0);
  return static_cast<std::uint32_t>(thread_events_.size() - 1);
}

std::uint32_t RolledTrace::number_of(std::uint32_t old_thread) {
  if (old_thread >= numbers_.size()) numbers_.resize(std::size_t{old_thread} + 1, no_thread);
  if (numbers_[old_thread] == no_thread) numbers_[old_thread] = add_thread();
  return numbers_[old_thread];
}

std::uint64_t RolledTrace::events() const noexcept {
  return std::accumulate(thread_events_.begin(), thread_events_.end(), std::uint64_t{0});
}

bool RolledTrace::read_chunk(const trace::InputFile& old, std::uint64_t offset, ChunkHeader& header) {
  if (!old.read(offset, &header, sizeof header)) return false;
  const bool is_good = header.magic == trace::chunk_magic && header.header_crc == crc_of(header) &&
                       header.header_bytes >= sizeof header &&
                       header.payload_bytes <= trace::max_payload_bytes;
  if (!is_good) return false;
  chunk_.resize(std::size_t{header.header_bytes} + header.payload_bytes);
  return old.read(offset, chunk_.data(), chunk_.size());
}

// A chunk decodes independently, so only the thread number in its header changes.
bool RolledTrace::copy_events(ChunkHeader header, std::uint32_t number) {
  header.thread = number;
  header.first = thread_events_[number];
  header.header_crc = crc_of(header);
  std::memcpy(chunk_.data(), &header, sizeof header);
  thread_events_[number] += header.count;
  return writer_->write_copied(header, chunk_);
}

bool RolledTrace::copy_threads(const ChunkHeader& header) {
  base::ByteSource source(chunk_.data() + header.header_bytes, header.payload_bytes);
  std::vector<std::uint8_t> memory;
  const auto records = trace::BlockUnpacker().unpack(source, trace::max_table_bytes, memory);
  std::vector<trace::Thread> threads = trace::decode_threads({records.data(), records.size()}, header.count);
  for (trace::Thread& thread : threads) {
    thread.index = number_of(thread.index);
    thread.events = thread_events_[thread.index];
  }
  return writer_->write(std::span<const trace::Thread>(threads));
}

bool RolledTrace::catch_up(const trace::InputFile& old, std::uint64_t from_byte) {
  bool is_written = true;
  for (std::uint64_t offset = from_byte; offset < old.bytes() && is_written; offset += chunk_.size()) {
    ChunkHeader header;
    if (!read_chunk(old, offset, header)) return false;
    switch (static_cast<ChunkKind>(header.kind)) {
      case ChunkKind::events:
        is_written = copy_events(header, number_of(header.thread));
        break;
      case ChunkKind::threads:
        is_written = copy_threads(header);
        break;
      default:
        is_written = writer_->write_copied(header, chunk_);
    }
  }
  return is_written;
}

}  // namespace heapwright::collect
