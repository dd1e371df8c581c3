// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "trace/copies.hpp"
#include "trace/damage.hpp"
#include "trace/heap_graph.hpp"
#include "trace/writer.hpp"

namespace heapwright::trace {

namespace {

constexpr std::size_t text_bytes = 16;  // of one annotation_text event

std::uint8_t text_byte(const EventBatch& batch, std::size_t event, std::size_t byte) {
  const std::uint64_t word = byte < 8 ? batch.size[event] : batch.usable[event];
  return static_cast<std::uint8_t>(word >> byte % 8 * 8);
}

void put_text_byte(EventBatch& batch, std::size_t event, std::size_t byte, char letter) {
  std::uint64_t& word = byte < 8 ? batch.size[event] : batch.usable[event];
  word |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(letter)) << byte % 8 * 8;
}

bool is_text(const EventBatch& batch, std::size_t event) {
  return event < batch.count() && batch.kind[event] == EventKind::annotation_text;
}

// Replaces names given by the program. A name is a run of events, which may continue in the thread's next
// batch.
class AnnotationTexts {
 public:
  explicit AnnotationTexts(const std::function<std::string(std::string)>& said) : said_(said) {}

  // next: the thread's next batch, or nullptr. replaced: how many events at the start of `batch` have already
  // been replaced; returns that of `next`.
  std::size_t replace(EventBatch& batch, EventBatch* next, std::size_t replaced) {
    std::size_t of_next = 0;
    for (std::size_t event = replaced; event < batch.count(); ++event) {
      if (!is_text(batch, event)) continue;
      places_.clear();
      for (; is_text(batch, event); ++event) places_.emplace_back(&batch, event);
      if (event == batch.count() && next != nullptr) {
        for (; is_text(*next, of_next); ++of_next) places_.emplace_back(next, of_next);
      }
      replace_places();
    }
    return of_next;
  }

 private:
  void replace_places() {
    std::string text;
    for (const auto& [batch, event] : places_) {
      for (std::size_t byte = 0; byte < text_bytes; ++byte) {
        text += static_cast<char>(text_byte(*batch, event, byte));
      }
      batch->size[event] = 0;
      batch->usable[event] = 0;
    }
    const std::string other = said_(text.substr(0, text.find('\0')));
    const std::size_t bytes = std::min(other.size(), places_.size() * text_bytes);
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      const auto& [batch, event] = places_[byte / text_bytes];
      put_text_byte(*batch, event, byte % text_bytes, other[byte]);
    }
  }

  const std::function<std::string(std::string)>& said_;
  std::vector<std::pair<EventBatch*, std::size_t>> places_;
};

void require_whole(const Reader& reader) {
  if (reader.damage().empty()) return;
  throw TraceError("only a whole trace can be anonymized; in this one, " + reader.damage().front().what);
}

void write_tables(const Reader& reader, const EmbeddedNames& names, const Replacements& with,
                  Writer& writer) {
  std::vector<Module> modules = reader.modules();
  for (std::size_t i = 0; i < modules.size(); ++i) {
    modules[i].bias = modules[i].start;
    modules[i].path = with.module_paths.at(i);
    modules[i].build_id = with.build_ids.at(i);
  }
  std::vector<Thread> threads = reader.threads();
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].thread_id = i + 1;
    threads[i].name = with.thread_names.at(i);
  }
  std::vector<Frame> frames = reader.frames();
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i].pc = with.pcs.at(i);
  writer.write(with.metadata);
  writer.write(std::span<const Module>(modules));
  writer.write(std::span<const Thread>(threads));
  writer.write(std::span<const Frame>(frames));
  writer.write(std::span<const StackNode>(reader.stacks()).subspan(1));
  writer.write(names);
  writer.write(std::span<const MemorySample>(reader.memory_samples()));
  writer.write(std::span<const Switch>(reader.switches()));
  writer.write(std::span<const ProcessorSample>(reader.processor_samples()));
  writer.write(std::span<const RefaultRun>(reader.refaults()));
}

void write_scans(const Reader& reader, const Replacements& with, Writer& writer) {
  std::set<std::uint32_t> written;
  for (const ScanChunk& chunk : reader.scans()) {
    if (written.insert(chunk.mappings).second) {
      std::vector<Mapping> mappings = reader.mappings_of(chunk);
      for (Mapping& mapping : mappings) mapping.name = with.named(std::move(mapping.name));
      if (!mappings.empty()) writer.write_mappings(chunk.mappings, mappings);
    }
    writer.write_scan(chunk.mappings, chunk.begin_ns, chunk.end_ns, reader.decode(chunk));
  }
}

// Variables and paths are names of the program.
void write_graphs(const Reader& reader, const Replacements& with, Writer& writer) {
  for (const std::uint64_t time_ns : heap_graph_times(reader)) {
    HeapGraph graph = read_heap_graph(reader, time_ns);
    for (GraphRoot& root : graph.roots) {
      root.module = with.named(std::move(root.module));
      root.symbol.clear();
    }
    graph.types.clear();
    graph.type_of.clear();
    write_heap_graph(graph, writer);
  }
}

void write_all_events(const Reader& reader, const Replacements& with, Writer& writer,
                      const CopyProgress& on_progress) {
  DecodeScratch scratch;
  AnnotationTexts texts(with.said);
  EventBatch batch;
  EventBatch next;
  std::size_t replaced = 0;
  const std::vector<EventChunk>& chunks = reader.event_chunks();
  if (!chunks.empty()) reader.decode(chunks.front(), scratch, batch);
  for (std::size_t i = 0; i < chunks.size() && writer.error_number() == 0; ++i) {
    const bool has_next = i + 1 < chunks.size();
    if (has_next) reader.decode(chunks[i + 1], scratch, next);
    const bool goes_on = has_next && chunks[i + 1].thread == chunks[i].thread;
    replaced = texts.replace(batch, goes_on ? &next : nullptr, replaced);
    writer.write_events(chunks[i].thread, chunks[i].first_sequence, batch);
    std::swap(batch, next);
    on_progress(i + 1, chunks.size());
  }
}

}  // namespace

int write_unnamed_copy(const Reader& reader, const EmbeddedNames& names, const Replacements& replacements,
                       const std::string& path, const CopyProgress& on_progress) {
  require_whole(reader);
  int error = 0;
  const auto writer = Writer::create(path, false, error);
  if (writer == nullptr) return error;
  write_tables(reader, names, replacements, *writer);
  write_all_events(reader, replacements, *writer, on_progress);
  write_scans(reader, replacements, *writer);
  write_graphs(reader, replacements, *writer);
  writer->finish(reader.end());
  return writer->error_number();
}

}  // namespace heapwright::trace
