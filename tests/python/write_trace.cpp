// SPDX-License-Identifier: MIT
// write_trace FILE < text: makes a trace from lines of text, one record each.
//
//   meta KEY NUMBER-OR-"TEXT"      frame PC MODULE          stack PARENT FRAME
//   module START END BIAS "PATH" "BUILD-ID"
//   thread INDEX ID "NAME" FIRST EXIT        memory TIME ANONYMOUS [FILE SWAPPED RECORDER SHARED]
//   event THREAD KIND BEGIN DURATION SIZE USABLE ADDRESS OLD STACK ALIGNMENT-LOG2
//   switch TIME IS-ON
//   processor TIME CPU SYSTEM MINOR MAJOR SEEN SEEN-TIME REFAULTS REFAULT-TIME
//   refault TIME PAGE PAGES FAULT-TIME WEIGHT
//   end REASON STATUS TIME         (without it the trace has no end mark)
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "trace/writer.hpp"

namespace {

using namespace heapwright::trace;

struct Contents {
  Metadata metadata;
  std::vector<Frame> frames;
  std::vector<StackNode> stacks;
  std::vector<Module> modules;
  std::map<std::uint32_t, Thread> threads;
  std::vector<MemorySample> samples;
  std::vector<Switch> switches;
  std::vector<ProcessorSample> processor;
  std::vector<RefaultRun> refaults;
  std::map<std::uint32_t, EventBatch> events;
  End end;
  bool has_end = false;
};

void read_metadata(std::istringstream& line, Metadata& metadata) {
  std::string key;
  line >> key;
  if (key == "program") line >> std::quoted(metadata.program);
  if (key == "command") line >> std::quoted(metadata.command);
  if (key == "note") line >> std::quoted(metadata.notes.emplace_back());
  if (key == "unseen") line >> std::quoted(metadata.unseen.emplace_back());
  if (key == "allocator") line >> std::quoted(metadata.allocator);
  if (key == "condition") line >> std::quoted(metadata.conditions.emplace_back());
  if (key == "process_id") line >> metadata.process_id;
  if (key == "start_unix_ns") line >> metadata.start_unix_ns;
  if (key == "forgotten_before_ns") line >> metadata.forgotten_before_ns;
  if (key == "forgotten_events") line >> metadata.forgotten_events;
  if (key == "page_bytes") line >> metadata.page_bytes;
  if (key == "sample_mean_bytes") line >> metadata.sample_mean_bytes;
  if (key == "durations_recorded") line >> metadata.durations_recorded;
}

void read_event(std::istringstream& line, std::map<std::uint32_t, EventBatch>& events) {
  std::uint32_t thread = 0;
  unsigned kind = 0;
  unsigned alignment_log2 = 0;
  line >> thread;
  EventBatch& batch = events[thread];
  const std::size_t at = batch.count();
  batch.resize(at + 1);
  line >> kind >> batch.begin_ns[at] >> batch.duration_ns[at] >> batch.size[at] >> batch.usable[at] >>
      batch.address[at] >> batch.old_address[at] >> batch.stack[at] >> alignment_log2;
  batch.kind[at] = static_cast<EventKind>(kind);
  batch.alignment_log2[at] = static_cast<std::uint8_t>(alignment_log2);
}

bool read_record(const std::string& text, Contents& contents) {
  std::istringstream line(text);
  std::string what;
  line >> what;
  if (what == "meta") {
    read_metadata(line, contents.metadata);
  } else if (what == "frame") {
    Frame& frame = contents.frames.emplace_back();
    line >> frame.pc >> frame.module;
  } else if (what == "stack") {
    StackNode& node = contents.stacks.emplace_back();
    line >> node.parent >> node.frame;
  } else if (what == "module") {
    Module& module = contents.modules.emplace_back();
    line >> module.start >> module.end >> module.bias >> std::quoted(module.path) >>
        std::quoted(module.build_id);
  } else if (what == "thread") {
    Thread thread;
    line >> thread.index >> thread.thread_id >> std::quoted(thread.name) >> thread.first_ns >> thread.exit_ns;
    contents.threads[thread.index] = thread;
  } else if (what == "memory") {
    MemorySample& sample = contents.samples.emplace_back();
    line >> sample.time_ns >> sample.resident_anonymous_bytes;
    if (!line.fail() && !line.eof()) {
      line >> sample.resident_file_bytes >> sample.swapped_bytes >> sample.recorder_bytes >>
          sample.resident_shared_bytes;
    }
  } else if (what == "processor") {
    fields(contents.processor.emplace_back(), [&](const char*, auto& value) { line >> value; });
  } else if (what == "refault") {
    fields(contents.refaults.emplace_back(), [&](const char*, auto& value) { line >> value; });
  } else if (what == "switch") {
    Switch& change = contents.switches.emplace_back();
    line >> change.time_ns >> change.is_on;
  } else if (what == "event") {
    read_event(line, contents.events);
  } else if (what == "end") {
    unsigned reason = 0;
    line >> reason >> contents.end.status >> contents.end.time_ns;
    contents.end.reason = static_cast<EndReason>(reason);
    contents.has_end = true;
  }
  return !line.fail();
}

EventBatch part_of(const EventBatch& batch, std::size_t first, std::size_t count) {
  EventBatch part;
  part.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    part.kind[i] = batch.kind[first + i];
    part.alignment_log2[i] = batch.alignment_log2[first + i];
    part.duration_ns[i] = batch.duration_ns[first + i];
    part.stack[i] = batch.stack[first + i];
    part.begin_ns[i] = batch.begin_ns[first + i];
    part.size[i] = batch.size[first + i];
    part.usable[i] = batch.usable[first + i];
    part.address[i] = batch.address[first + i];
    part.old_address[i] = batch.old_address[first + i];
  }
  return part;
}

bool write_events(Writer& writer, Contents& contents) {
  for (auto& [thread, batch] : contents.events) {
    contents.threads[thread].index = thread;
    contents.threads[thread].events = batch.count();
    contents.end.events += batch.count();
    for (std::size_t first = 0; first < batch.count(); first += max_events_per_chunk) {
      const std::size_t count = std::min(max_events_per_chunk, batch.count() - first);
      if (!writer.write_events(thread, first, part_of(batch, first, count))) return false;
    }
  }
  return true;
}

bool write(Writer& writer, Contents& contents) {
  if (!writer.write(contents.metadata) || !writer.write(std::span<const Module>(contents.modules)) ||
      !writer.write(std::span<const Frame>(contents.frames)) ||
      !writer.write(std::span<const StackNode>(contents.stacks)) || !write_events(writer, contents)) {
    return false;
  }
  std::vector<Thread> threads;
  for (const auto& [index, thread] : contents.threads) threads.push_back(thread);
  return writer.write(std::span<const Thread>(threads)) &&
         writer.write(std::span<const MemorySample>(contents.samples)) &&
         writer.write(std::span<const Switch>(contents.switches)) &&
         writer.write(std::span<const ProcessorSample>(contents.processor)) &&
         writer.write(std::span<const RefaultRun>(contents.refaults)) &&
         (!contents.has_end || writer.finish(contents.end));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  Contents contents;
  for (std::string line; std::getline(std::cin, line);) {
    if (read_record(line, contents)) continue;
    std::fprintf(stderr, "not understood: %s\n", line.c_str());
    return 2;
  }
  int error_number = 0;
  const auto writer = Writer::create(arguments[1], true, error_number);
  return writer && write(*writer, contents) ? 0 : 1;
}
