// SPDX-License-Identifier: MIT
// length: all facts of a trace in one report
// dump_trace FILE [SIZE]: what a trace holds, as JSON, for the journeys. It
// replays the events on its own, simply and in memory: a second opinion
// beside src/analyze. With SIZE, also the distinct stacks that asked for it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/event.hpp"
#include "trace/kind_names.hpp"
#include "trace/reader.hpp"

namespace {

using heapwright::trace::EventBatch;
using heapwright::trace::EventKind;
using heapwright::trace::Reader;
using Counts = std::map<std::pair<EventKind, std::uint64_t>, std::uint64_t>;

// A block comes to life when its call ends and dies when its call begins.
struct Step {
  std::uint64_t moment;
  std::uint64_t address;
  std::uint64_t size;
  EventKind kind;
  bool is_birth;
};

// What the program said of itself.
struct Annotation {
  EventKind kind;
  std::string name;
  std::uint64_t address, size, usable;
};

struct Totals {
  std::vector<Annotation> annotations;
  Counts allocated, failed, released;
  std::map<EventKind, std::uint64_t> called;
  std::uint64_t null_frees = 0, unknown_releases = 0, reused_live = 0, gaps = 0, backward = 0, events = 0;
  std::uint64_t live_bytes = 0, live_blocks = 0, peak_bytes = 0, peak_blocks = 0, no_duration = 0,
                no_stack = 0;
  std::set<std::uint32_t> stacks_of_size;
};

bool is_mapping(EventKind kind) { return kind == EventKind::mmap_ || kind == EventKind::mremap_; }

bool is_realloc_to_nothing(const EventBatch& batch, std::size_t i) {
  return heapwright::trace::is_realloc(batch.kind[i]) && batch.address[i] == 0 && batch.size[i] == 0;
}

void count_call(const EventBatch& batch, std::size_t i, Totals& totals) {
  const EventKind kind = batch.kind[i];
  ++totals.called[kind];
  totals.no_duration += batch.duration_ns[i] == 0;
  totals.no_stack += batch.stack[i] == 0;
  totals.null_frees += heapwright::trace::is_release(kind) && batch.address[i] == 0;
  if (!heapwright::trace::is_allocation(kind) && !is_mapping(kind)) return;
  if (is_realloc_to_nothing(batch, i)) return;
  Counts& counts = batch.address[i] == 0 ? totals.failed : totals.allocated;
  ++counts[{kind, batch.size[i]}];
}

// The pieces of a name follow its event in the same thread.
void add_annotation(const EventBatch& batch, std::size_t i, std::vector<Annotation>& annotations) {
  if (batch.kind[i] != EventKind::annotation_text) {
    annotations.push_back({batch.kind[i], "", batch.address[i], batch.size[i], batch.usable[i]});
    return;
  }
  char piece[17] = {};
  std::memcpy(piece, &batch.size[i], 8);
  std::memcpy(piece + 8, &batch.usable[i], 8);
  if (!annotations.empty()) annotations.back().name += piece;
}

// Steps of one thread stay in its order: a processor may read its clock a few
// nanoseconds before the instructions in front of it are done. Between
// threads, a block is given back before it is had again in the same 16 ns.
class ThreadSteps {
 public:
  ThreadSteps(std::vector<Step>& steps, std::uint64_t& latest) : steps_(steps), latest_(latest) {}

  void add(std::uint64_t time_ns, std::uint64_t address, std::uint64_t size, EventKind kind, bool is_birth) {
    latest_ = std::max(latest_, time_ns / 16 * 2 + (is_birth ? 1 : 0));
    steps_.push_back({latest_, address, size, kind, is_birth});
  }

 private:
  std::vector<Step>& steps_;
  std::uint64_t& latest_;
};

void add_steps(const EventBatch& batch, std::size_t i, ThreadSteps steps) {
  const EventKind kind = batch.kind[i];
  const std::uint64_t begin = batch.begin_ns[i];
  if (heapwright::trace::is_release(kind) && batch.address[i] != 0) {
    steps.add(begin, batch.address[i], 0, kind, false);
  }
  if (!heapwright::trace::is_allocation(kind)) return;
  const bool has_moved = batch.address[i] != 0 || is_realloc_to_nothing(batch, i);
  if (batch.old_address[i] != 0 && has_moved) steps.add(begin, batch.old_address[i], 0, kind, false);
  if (batch.address[i] == 0) return;
  steps.add(begin + batch.duration_ns[i], batch.address[i], batch.size[i], kind, true);
}

void replay(std::vector<Step>& steps, Totals& totals) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.moment < b.moment; });
  std::unordered_map<std::uint64_t, std::uint64_t> live;
  for (const Step& step : steps) {
    const auto found = live.find(step.address);
    if (step.is_birth) {
      if (found != live.end()) {
        ++totals.reused_live;
        totals.live_bytes -= found->second;
      }
      live[step.address] = step.size;
      totals.live_bytes += step.size;
    } else if (found == live.end()) {
      ++totals.unknown_releases;
    } else {
      ++totals.released[{step.kind, found->second}];
      totals.live_bytes -= found->second;
      live.erase(found);
    }
    if (totals.live_bytes > totals.peak_bytes) {
      totals.peak_bytes = totals.live_bytes;
      totals.peak_blocks = live.size();
    }
  }
  totals.live_blocks = live.size();
}

Totals read_events(const Reader& reader, std::uint64_t size_of_interest) {
  Totals totals;
  std::vector<Step> steps;
  heapwright::trace::DecodeScratch scratch;
  EventBatch batch;
  struct ThreadState {
    std::uint64_t next_sequence = 0, time_ns = 0, latest_moment = 0;
  };
  std::map<std::uint32_t, ThreadState> threads;
  for (const auto& chunk : reader.event_chunks()) {
    reader.decode(chunk, scratch, batch);
    auto& [sequence, time, moment] = threads[chunk.thread];
    totals.gaps += chunk.first_sequence != sequence;
    sequence = chunk.first_sequence + batch.count();
    totals.events += batch.count();
    for (std::size_t i = 0; i < batch.count(); ++i) {
      totals.backward += batch.begin_ns[i] < time;
      time = batch.begin_ns[i];
      count_call(batch, i, totals);
      add_steps(batch, i, {steps, moment});
      if (heapwright::trace::is_annotation(batch.kind[i])) add_annotation(batch, i, totals.annotations);
      if (heapwright::trace::is_allocation(batch.kind[i]) && batch.size[i] == size_of_interest) {
        totals.stacks_of_size.insert(batch.stack[i]);
      }
    }
  }
  replay(steps, totals);
  return totals;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\t') {
      result += "\\t";
    } else {
      result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return result + '"';
}

void print_counts(const char* name, const Counts& counts) {
  std::printf("\"%s\":[", name);
  const char* separator = "";
  for (const auto& [key, count] : counts) {
    const std::string kind{heapwright::trace::name_of(key.first)};
    std::printf("%s[\"%s\",%lu,%lu]", separator, kind.c_str(), key.second, count);
    separator = ",";
  }
  std::printf("],\n");
}

void print_totals(const Totals& totals) {
  print_counts("allocated", totals.allocated);
  print_counts("failed", totals.failed);
  print_counts("released", totals.released);
  std::printf("\"called\":{");
  const char* separator = "";
  for (const auto& [kind, count] : totals.called) {
    std::printf("%s\"%s\":%lu", separator, std::string(heapwright::trace::name_of(kind)).c_str(), count);
    separator = ",";
  }
  std::printf(
      "},\n\"null_frees\":%lu,\"unknown_releases\":%lu,\"reused_live\":%lu,\"gaps\":%lu,\"backward\":%lu,\n",
      totals.null_frees, totals.unknown_releases, totals.reused_live, totals.gaps, totals.backward);
  std::printf(
      "\"events\":%lu,\"live_bytes\":%lu,\"live_blocks\":%lu,\"peak_bytes\":%lu,\"peak_blocks\":%lu,\n",
      totals.events, totals.live_bytes, totals.live_blocks, totals.peak_bytes, totals.peak_blocks);
  std::printf("\"no_duration\":%lu,\"no_stack\":%lu,\n", totals.no_duration, totals.no_stack);
}

void print_stack(const Reader& reader, std::uint32_t stack) {
  std::printf("[");
  const char* separator = "";
  while (stack != 0) {
    const auto& node = reader.stacks()[stack];
    if (heapwright::trace::is_mark(node.frame)) {
      constexpr const char* marks[] = {"truncated", "table full", "too deep",
                                       "no tables", "no object",  "by frame pointer"};
      std::printf("%s\"(%s)\"", separator, marks[node.frame - heapwright::trace::frame_truncated]);
    } else {
      const auto& frame = reader.frames()[node.frame];
      const bool is_known = frame.module < reader.modules().size();
      const std::string path = is_known ? reader.modules()[frame.module].path : "?";
      const std::uint64_t bias = is_known ? reader.modules()[frame.module].bias : 0;
      std::printf("%s[%s,%lu]", separator, quoted(path).c_str(), frame.pc - bias - (frame.is_exact ? 0 : 1));
    }
    separator = ",";
    stack = node.parent;
  }
  std::printf("]");
}

// Ends the list before it and begins this one.
void print_texts(const char* name, const std::vector<std::string>& texts) {
  std::printf("],\n\"%s\":[", name);
  const char* separator = "";
  for (const auto& text : texts) {
    std::printf("%s%s", separator, quoted(text).c_str());
    separator = ",";
  }
}

void print_lists(const Reader& reader, const Totals& totals) {
  std::printf("\"threads\":[");
  const char* separator = "";
  for (const auto& thread : reader.threads()) {
    std::printf("%s{\"thread_id\":%lu,\"events\":%lu,\"dropped\":%lu,\"exit_ns\":%lu}", separator,
                thread.thread_id, thread.events, thread.dropped, thread.exit_ns);
    separator = ",";
  }
  std::printf("],\n\"modules\":[");
  separator = "";
  for (const auto& module : reader.modules()) {
    std::printf("%s{\"path\":%s,\"build_id\":%s,\"unloaded_ns\":%lu}", separator, quoted(module.path).c_str(),
                quoted(module.build_id).c_str(), module.unloaded_ns);
    separator = ",";
  }
  print_texts("notes", reader.metadata().notes);
  print_texts("unseen", reader.metadata().unseen);
  print_texts("conditions", reader.metadata().conditions);
  std::printf("],\n\"annotations\":[");
  separator = "";
  for (const auto& said : totals.annotations) {
    std::printf("%s[\"%s\",%s,%lu,%lu,%lu]", separator,
                std::string(heapwright::trace::name_of(said.kind)).c_str(), quoted(said.name).c_str(),
                said.address, said.size, said.usable);
    separator = ",";
  }
  std::printf("],\n\"damage\":%zu,\"stacks\":[", reader.damage().size());
  separator = "";
  for (const std::uint32_t stack : totals.stacks_of_size) {
    std::printf("%s", separator);
    print_stack(reader, stack);
    separator = ",\n";
  }
  std::printf("],\n");
}

// Cause, whether it is whole, the kernel's anonymous bytes before it, its begin and its CPU time.
void print_scans(const Reader& reader) {
  std::printf("\"scans\":[");
  const char* separator = "";
  for (const auto& place : reader.scans()) {
    const auto scan = reader.decode(place);

    std::printf("%s[%d,%d,%lu,%lu,%lu]", separator, static_cast<int>(scan.cause), scan.is_whole ? 1 : 0,
                scan.before.anonymous_bytes, place.begin_ns, scan.cpu_ns);
    separator = ",";
  }
  std::printf("],\n");
}

void print_rest(const Reader& reader) {
  const auto& metadata = reader.metadata();
  const auto& end = reader.end();
  std::printf(
      "\"program\":%s,\"command\":%s,\"allocator\":%s,\"process_id\":%lu,\"parent_process_id\":%lu,\n",
      quoted(metadata.program).c_str(), quoted(metadata.command).c_str(), quoted(metadata.allocator).c_str(),
      metadata.process_id, metadata.parent_process_id);
  std::printf("\"file_bytes\":%lu,\"dropped\":%lu,\"end_events\":%lu,\"end_reason\":%d,\"end_status\":%d}\n",
              reader.file_bytes(), end.dropped, end.events, static_cast<int>(end.reason), end.status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    const Reader reader = Reader::open(argv[1]);
    const Totals totals = read_events(reader, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0);
    std::printf("{");
    print_totals(totals);
    print_lists(reader, totals);
    print_scans(reader);
    print_rest(reader);
  } catch (const heapwright::trace::TraceError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
