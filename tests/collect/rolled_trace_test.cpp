// SPDX-License-Identifier: MIT
// length: a program, a model of what is to be known of it, and what is
// A trace rolled again and again, beside a model that forgets nothing.
#include "collect/rolled_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "collect_run.hpp"
#include "trace/event_rows.hpp"
#include "trace/heap_graph.hpp"

namespace heapwright::collect::testing {
namespace {

using trace::EventKind;

bool are_equal(const trace::Event& a, const trace::Event& b) {
  return a.kind == b.kind && a.begin_ns == b.begin_ns && a.duration_ns == b.duration_ns &&
         a.address == b.address && a.old_address == b.old_address && a.size == b.size &&
         a.usable == b.usable && a.stack == b.stack && a.alignment_log2 == b.alignment_log2;
}

// A program's samples: all of them, and what of them is in a trace.
class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {}

  // Some calls of all threads, one after the other.
  void go_on(std::size_t calls) {
    for (std::size_t i = 0; i < calls; ++i) {
      now_ns_ += 16 * (1 + random_() % 40);
      if (random_() % 400 == 0) replace_thread();
      call(alive_[random_() % alive_.size()]);
    }
  }

  // What was not written yet. Threads write one after the other, in parts.
  void write(trace::Writer& writer) {
    write_stacks(writer, stacks_ + 3);
    for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
      Told& told = threads_[thread];
      while (told.written < told.events.size()) {
        const std::size_t left = told.events.size() - told.written;
        const std::size_t count = std::min<std::size_t>(left, 1 + random_() % 300);
        trace::EventBatch batch;
        for (std::size_t i = 0; i < count; ++i) append(batch, told.events[told.written + i]);
        writer.write_events(told.number, told.events_in_file, batch);
        told.written += count;
        told.events_in_file += count;
      }
      if (!told.has_ended) write_record(writer, thread);
    }
  }

  // From now on written to another trace.
  void restart_numbering(RolledTrace& rolled) {
    for (Told& told : threads_) {
      if (told.has_ended) continue;
      told.number = rolled.number_of(told.number);
      told.events_in_file = rolled.thread_events()[told.number];
    }
    next_number_ = static_cast<std::uint32_t>(rolled.thread_events().size());
  }

  // By thread: the blocks that lived at the time, and all that came later.
  std::map<std::uint64_t, std::vector<trace::Event>> expected(std::uint64_t from_ns) const {
    std::map<std::uint64_t, std::size_t> lives;  // address to its place in the history
    for (std::size_t i = 0; i < history_.size() && history_[i].event.begin_ns < from_ns; ++i) {
      const trace::Event& event = history_[i].event;
      if (trace::is_release(event.kind)) lives.erase(event.address);
      if (event.old_address != 0) lives.erase(event.old_address);
      if (trace::is_allocation(event.kind)) lives[event.address] = i;
    }
    std::map<std::uint64_t, std::vector<trace::Event>> found;
    for (std::size_t i = 0; i < history_.size(); ++i) {
      trace::Event event = history_[i].event;
      if (event.begin_ns < from_ns) {
        const auto block = lives.find(event.address);
        if (block == lives.end() || block->second != i) continue;
        event.old_address = 0;
      }
      found[history_[i].thread].push_back(event);
    }
    return found;
  }

  std::uint64_t now_ns() const { return now_ns_; }
  std::uint64_t events() const { return history_.size(); }
  bool is_alive(std::uint64_t thread) const { return threads_[thread].exit_ns == 0; }
  std::size_t threads() const { return threads_.size(); }

 private:
  struct Told {
    std::vector<trace::Event> events;
    std::size_t written = 0;
    std::uint32_t number = 0;  // in the trace, as what follows
    std::uint64_t events_in_file = 0;
    std::uint64_t exit_ns = 0;
    bool has_ended = false;  // and that is written
  };
  struct Past {
    trace::Event event;
    std::uint64_t thread = 0;
  };

  void replace_thread() {
    if (alive_.size() > 4) {
      const std::size_t at = random_() % alive_.size();
      threads_[alive_[at]].exit_ns = now_ns_;
      alive_.erase(alive_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    add_thread();
  }

  void add_thread() {
    alive_.push_back(static_cast<std::uint32_t>(threads_.size()));
    threads_.emplace_back();
    threads_.back().number = next_number_++;
  }

  void call(std::uint32_t thread) {
    trace::Event event{.stack = stacks_ == 0 ? 0 : static_cast<std::uint32_t>(1 + random_() % stacks_),
                       .begin_ns = now_ns_};
    const std::uint64_t what = random_() % 10;
    if (what < 5 && !blocks_.empty()) {
      event.kind = what == 0 ? EventKind::realloc_ : EventKind::free_;
      // Mostly young ones: the first blocks stay for long.
      const std::size_t back = std::min(blocks_.size(), 1 + random_() % 8);
      const std::size_t at = blocks_.size() - (random_() % 50 == 0 ? 1 + random_() % blocks_.size() : back);
      const std::uint64_t old = blocks_[at];
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
      free_.push_back(old);
      event.address = old;
      if (event.kind == EventKind::realloc_) event.old_address = old;
    } else {
      event.kind = EventKind::new_plain;
    }
    if (event.kind == EventKind::free_) {
      event.stack = 0;
    } else {
      make(event);
    }
    threads_[thread].events.push_back(event);
    history_.push_back({event, thread});
  }

  void make(trace::Event& event) {
    event.size = 1 + random_() % 5000;
    event.usable = event.size + 8;
    if (!free_.empty() && random_() % 4 != 0) {
      const std::size_t at = random_() % free_.size();
      event.address = free_[at];
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      event.address = 0x5000'0000 + 16 * next_block_++;
    }
    blocks_.push_back(event.address);
  }

  void write_stacks(trace::Writer& writer, std::uint32_t count) {
    for (; stacks_ < count; ++stacks_) {
      const trace::Frame frame{0x1000ULL + stacks_, trace::Frame::no_module, false};
      const trace::StackNode node{0, stacks_};
      writer.write(std::span(&frame, 1));
      writer.write(std::span(&node, 1));
    }
  }

  void write_record(trace::Writer& writer, std::uint32_t thread) {
    Told& told = threads_[thread];
    const trace::Thread record{.index = told.number,
                               .thread_id = thread,
                               .name = "",
                               .exit_ns = told.exit_ns,
                               .events = told.events_in_file};
    writer.write(std::span(&record, 1));
    told.has_ended = told.exit_ns != 0;
  }

  std::mt19937_64 random_;
  std::uint64_t now_ns_ = 1600;
  std::vector<Told> threads_{1};
  std::vector<std::uint32_t> alive_{0};
  std::vector<Past> history_;
  std::vector<std::uint64_t> blocks_;
  std::vector<std::uint64_t> free_;
  std::uint64_t next_block_ = 0;
  std::uint32_t next_number_ = 1;
  std::uint32_t stacks_ = 0;
};

using ByThread = std::map<std::uint64_t, std::vector<trace::Event>>;

// By the number that the program knows a thread by.
ByThread events_in(const trace::Reader& reader) {
  ByThread found;
  for (const trace::Thread& thread : reader.threads()) {
    const trace::EventBatch batch = events_of(reader, thread.index);
    EXPECT_EQ(thread.events, batch.count()) << "of thread " << thread.thread_id;
    for (std::size_t i = 0; i < batch.count(); ++i) found[thread.thread_id].push_back(event_at(batch, i));
  }
  return found;
}

void expect_same(const ByThread& actual, const ByThread& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [thread, events] : expected) {
    const auto found = actual.find(thread);
    ASSERT_NE(found, actual.end()) << thread;
    ASSERT_EQ(found->second.size(), events.size()) << thread;
    EXPECT_TRUE(std::equal(events.begin(), events.end(), found->second.begin(), are_equal)) << thread;
  }
}

void expect_numbered_without_gaps(const trace::Reader& reader) {
  std::map<std::uint32_t, std::uint64_t> next;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    EXPECT_EQ(chunk.first_sequence, next[chunk.thread]);
    next[chunk.thread] += chunk.count;
  }
}

class Rolling : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return run_.folder() / name; }
  std::unique_ptr<trace::Writer> create(const std::string& name) const {
    int error = 0;
    return trace::Writer::create(path(name), true, error);
  }
  std::optional<RolledTrace> roll(std::uint64_t old_bytes, const RollLimits& limits) const {
    return RolledTrace::make(trace::Reader::open(path("old"), old_bytes), path("new"), limits, is_given_up_);
  }

  CollectRun run_;
  std::atomic<bool> is_given_up_ = false;
};

TEST_F(Rolling, AnyProgramsLivingBlocksAndLatestEventsStayAsTheyWere) {
  std::size_t forgotten_threads = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Program program(seed);
    std::unique_ptr<trace::Writer> writer = create("old");
    for (int rolls = 0; rolls < 5; ++rolls) {
      program.go_on(8000);
      program.write(*writer);
      const std::uint64_t old_bytes = writer->bytes_written();
      std::optional<RolledTrace> rolled = roll(old_bytes, {old_bytes / 2, program.now_ns()});
      ASSERT_TRUE(rolled) << seed;
      program.go_on(500);  // meanwhile
      program.write(*writer);
      ASSERT_TRUE(rolled->catch_up(trace::InputFile(path("old"), writer->bytes_written()), old_bytes));
      const std::uint64_t from_ns = rolled->forgotten_before_ns();
      program.restart_numbering(*rolled);
      const std::uint64_t events = rolled->events();
      writer = rolled->take_writer();
      std::filesystem::rename(path("new"), path("old"));
      const trace::Reader reader = trace::Reader::open(path("old"));
      ASSERT_TRUE(reader.damage().empty()) << reader.damage()[0].what;
      expect_same(events_in(reader), program.expected(from_ns));
      expect_numbered_without_gaps(reader);
      EXPECT_EQ(reader.event_count(), events);
      EXPECT_EQ(reader.metadata().forgotten_before_ns, from_ns);
      EXPECT_EQ(reader.metadata().forgotten_events + events, program.events());
      EXPECT_GT(from_ns, 0U);
      EXPECT_LT(from_ns, program.now_ns());
      forgotten_threads += program.threads() - reader.threads().size();
    }
    // And what is written then is read in order.
    program.go_on(2000);
    program.write(*writer);
    ASSERT_TRUE(writer->finish({.reason = trace::EndReason::exited}));
    const trace::Reader reader = trace::Reader::open(path("old"));
    EXPECT_TRUE(reader.damage().empty());
    expect_same(events_in(reader), program.expected(reader.metadata().forgotten_before_ns));
  }
  EXPECT_GT(forgotten_threads, 60U) << "those that ended long ago and left nothing";
}

TEST_F(Rolling, WhenLittleFitsOnlyWhatLivesStays) {
  Program program(77);
  std::unique_ptr<trace::Writer> writer = create("old");
  program.go_on(30'000);
  program.write(*writer);
  const std::uint64_t bytes = writer->bytes_written();
  std::uint64_t least = bytes;
  while (roll(bytes, {least, program.now_ns()})) least = least / 10 * 9;
  EXPECT_LT(least, bytes / 3);
  EXPECT_FALSE(roll(bytes, {1000, program.now_ns()})) << "not even that fits";
  const std::optional<RolledTrace> rolled = roll(bytes, {least / 9 * 10, program.now_ns()});
  ASSERT_TRUE(rolled);
  expect_same(events_in(trace::Reader::open(path("new"))), program.expected(rolled->forgotten_before_ns()));
}

TEST_F(Rolling, TheLastSnapshotStays) {
  Program program(3);
  std::unique_ptr<trace::Writer> writer = create("old");
  program.go_on(5000);
  program.write(*writer);
  trace::HeapGraph graph;
  for (const std::uint64_t size : {16U, 32U}) {
    graph.time_ns = size;
    graph.nodes = {{0x1000, size, 1}};
    graph.roots = {{trace::RootKind::data, 0, "module", "variable"}};
    graph.edges = {{1, 0, 0, false}};
    ASSERT_TRUE(trace::write_heap_graph(graph, *writer));
  }
  program.go_on(5000);
  program.write(*writer);
  const std::uint64_t bytes = writer->bytes_written();
  std::optional<RolledTrace> rolled = roll(bytes, {bytes / 2, program.now_ns()});
  ASSERT_TRUE(rolled);
  const trace::Reader reader = trace::Reader::open(path("new"));
  ASSERT_EQ(trace::heap_graph_times(reader), (std::vector<std::uint64_t>{32}));
  const trace::HeapGraph found = trace::read_heap_graph(reader, 32);
  EXPECT_EQ(found.nodes, graph.nodes);
  EXPECT_EQ(found.roots, graph.roots);
  EXPECT_EQ(found.edges, graph.edges);
}

TEST_F(Rolling, NothingFromTheLatestMomentOnIsForgotten) {
  Program program(5);
  std::unique_ptr<trace::Writer> writer = create("old");
  program.go_on(10'000);
  const std::uint64_t latest_ns = program.now_ns();
  program.go_on(10'000);
  program.write(*writer);
  const std::uint64_t bytes = writer->bytes_written();
  std::uint64_t most = bytes;
  while (const std::optional<RolledTrace> rolled = roll(bytes, {most, latest_ns})) {
    EXPECT_LE(rolled->forgotten_before_ns(), latest_ns);
    most = most / 10 * 9;
  }
  EXPECT_GT(most, bytes / 3);
}

TEST_F(Rolling, WhatIsGivenUpOrCannotBeWrittenIsNone) {
  Program program(5);
  std::unique_ptr<trace::Writer> writer = create("old");
  program.go_on(5000);
  program.write(*writer);
  const std::uint64_t bytes = writer->bytes_written();
  const trace::Reader old = trace::Reader::open(path("old"), bytes);
  EXPECT_FALSE(RolledTrace::make(old, path("no/folder"), {bytes, program.now_ns()}, is_given_up_));
  is_given_up_.store(true);
  EXPECT_FALSE(roll(bytes, {bytes, program.now_ns()}));
}

TEST_F(Rolling, MemoryOfLongAgoIsThinnedAndSwitchesStay) {
  Program program(9);
  std::unique_ptr<trace::Writer> writer = create("old");
  program.go_on(20'000);
  program.write(*writer);
  std::vector<trace::MemorySample> samples;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    samples.push_back({.time_ns = program.now_ns() * i / 60'000, .resident_anonymous_bytes = i % 97 + i});
  }
  writer->write(std::span<const trace::MemorySample>(samples));
  const trace::Switch pause[] = {{500, false}, {800, true}};
  writer->write(pause);
  const std::uint64_t bytes = writer->bytes_written();
  ASSERT_TRUE(roll(bytes, {bytes / 2, program.now_ns()}));
  const trace::Reader reader = trace::Reader::open(path("new"));
  EXPECT_LE(reader.memory_samples().size(), 8192U);
  EXPECT_GT(reader.memory_samples().size(), 4096U);
  EXPECT_LT(reader.memory_samples().front().time_ns, program.now_ns() / 1000);
  EXPECT_EQ(reader.switches().size(), 2U);
}

}  // namespace
}  // namespace heapwright::collect::testing
