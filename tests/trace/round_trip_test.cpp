// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <random>

#include "made_trace.hpp"
#include "trace/format.hpp"

namespace heapwright::trace::test {

namespace {

constexpr std::uint32_t stacks = 5000;

// Writes the batches as consecutive chunks of thread 0 and reads them back.
std::vector<EventBatch> through_file(const std::vector<EventBatch>& batches) {
  const TemporaryFile file("round_trip");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  EXPECT_TRUE(write_stacks(*writer, stacks));
  std::uint64_t sequence = 0;
  for (const EventBatch& batch : batches) {
    EXPECT_TRUE(writer->write_events(0, sequence, batch));
    sequence += batch.count();
  }
  EXPECT_TRUE(writer->finish({EndReason::exited}));
  const Reader reader = Reader::open(file.path());
  EXPECT_TRUE(reader.damage().empty());
  EXPECT_EQ(reader.event_count(), sequence);
  std::vector<EventBatch> result;
  DecodeScratch scratch;
  for (const EventChunk& chunk : reader.event_chunks()) {
    reader.decode(chunk, scratch, result.emplace_back());
    EXPECT_EQ(chunk.first_begin_ns, result.back().begin_ns.front());
  }
  return result;
}

void expect_round_trip(const EventBatch& batch) {
  const auto result = through_file({batch});
  ASSERT_EQ(result.size(), 1U);
  expect_equal(result[0], as_decoded(batch));
}

}  // namespace

TEST(RoundTrip, RandomBatchesComeBackExactly) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    expect_round_trip(random_batch(seed, 1 + seed * 3, stacks));
  }
}

TEST(RoundTrip, LargestRandomBatchComesBackExactly) {
  expect_round_trip(random_batch(99, max_events_per_chunk, stacks));
}

TEST(RoundTrip, ProgramComesBackExactlyOverManyChunks) {
  ProgramThread program(7);
  std::vector<EventBatch> batches;
  for (const std::size_t count : {32768, 1, 2, 5, 100, 32768, 9999}) batches.push_back(program.run(count));
  const auto result = through_file(batches);
  ASSERT_EQ(result.size(), batches.size());
  for (std::size_t i = 0; i < batches.size(); ++i) expect_equal(result[i], as_decoded(batches[i]));
}

// Some allocations and releases of a thread are made by others: an address
// may be made twice without a release between, or released without being made.
TEST(RoundTrip, AddressesMadeAndReleasedInAnyOrderComeBack) {
  for (const std::uint64_t places : {1, 3, 40, 3000, 100'000}) {
    std::mt19937_64 random(places);
    EventBatch batch;
    for (std::size_t i = 0; i < max_events_per_chunk; ++i) {
      const std::uint64_t address = 4096 + 16 * (random() % places);
      const std::uint64_t old_address = 4096 + 16 * (random() % places);
      switch (random() % 8) {
        case 0:
          append(batch, {EventKind::realloc_, i * 100, 40, 40, address, old_address});
          break;
        case 1:
          append(batch, {EventKind::malloc_usable_size_, i * 100, 0, 40, address});
          break;
        case 2:
        case 3:
        case 4:
          append(batch, {EventKind::delete_sized, i * 100, 40, 0, address});
          break;
        default:
          append(batch, {EventKind::malloc_, i * 100, 40, 40, address});
      }
    }
    expect_round_trip(batch);
  }
}

// Nothing stated, then something: what was left out before is there as zeros.
TEST(RoundTrip, SizesStatedLateComeBack) {
  EventBatch batch;
  for (std::uint64_t i = 0; i < 500; ++i) {
    append(batch, {EventKind::new_plain, i * 100, 24, 24, 4096});
    const std::uint64_t stated = i == 300 ? 25 : 0;
    append(batch, {EventKind::delete_plain, i * 100 + 50, stated, i == 400 ? 1ULL << 40U : 0U, 4096});
  }
  expect_round_trip(batch);
}

TEST(RoundTrip, WhatTheKernelDidWithinCallsComesBack) {
  ProgramThread program(11);
  std::vector<EventBatch> batches;
  for (const std::size_t count : {1000, 32768}) {
    EventBatch& batch = batches.emplace_back(program.run(count));
    batch.kernel = {{0, {.faults = 1, .fault_ns = 812}},
                    {7, {.waits = 2, .preemptions = 1, .waited_ns = 90'001, .preempted_ns = 4'000'000'123}},
                    {8, {.mappings = 3, .mapped_address = 0x7f00'0400'0000, .mapped_bytes = 135'168}},
                    {9, {.is_incomplete = true}},
                    {static_cast<std::uint32_t>(count - 1),
                     {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 1ULL << 40U, 1ULL << 40U, 1ULL << 40U,
                      1ULL << 56U, 1ULL << 56U, true}}};
  }
  const auto result = through_file(batches);
  ASSERT_EQ(result.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) expect_equal(result[i], as_decoded(batches[i]));
}

// Every call of a chunk may be told in full.
TEST(RoundTrip, WorkInEveryCallFitsTheColumn) {
  EventBatch batch;
  for (std::uint32_t i = 0; i < max_events_per_chunk; ++i) {
    append(batch, {EventKind::malloc_, i * 100, 24, 24, 4096});
    const std::uint64_t odd = i * 0x9e3779b97f4a7c15ULL;
    batch.kernel.push_back({i,
                            {i + 1, i + 2, i + 3, i + 4, odd >> 25U, odd >> 26U, odd >> 27U,
                             (odd >> 8U) / 4096 * 4096, (odd >> 9U) / 4096 * 4096, i % 2 == 0}});
  }
  expect_round_trip(batch);
}

TEST(RoundTrip, EmptyBatchWritesNothing) { EXPECT_TRUE(through_file({EventBatch()}).empty()); }

TEST(RoundTrip, ExtremesComeBack) {
  EventBatch batch;
  append(batch, {EventKind::malloc_, 0, SIZE_MAX, 0, 0, 0, UINT32_MAX, 0, 0});
  append(batch, {EventKind::posix_memalign_, 5, 1, 8, 1ULL << 40U, 0, 0, stacks - 1, 40});
  append(batch, {EventKind::malloc_, max_time_ns, 0, SIZE_MAX, UINT64_MAX, 0, 3, 1, 0});
  append(batch, {EventKind::free_, max_time_ns, 0, 0, UINT64_MAX, 0, 3, 1, 0});
  append(batch, {EventKind::free_, max_time_ns, 0, 0, 0, 0, 3, 1, 0});
  append(batch, {EventKind::free_, max_time_ns, 0, 0, 1, 0, 3, 1, 0});
  append(batch, {EventKind::realloc_, max_time_ns, 24, 24, 0, 1ULL << 40U, 3, 1, 0});
  append(batch, {EventKind::realloc_, max_time_ns, 24, 24, 48, 48, 3, 1, 0});
  expect_round_trip(batch);
}

TEST(RoundTrip, BeginTimesNeverFall) {
  EventBatch batch;
  for (const std::uint64_t begin_ns : {1600U, 800U, 1700U}) {
    append(batch, {EventKind::malloc_, begin_ns, 8, 24, 4096});
  }
  const auto result = through_file({batch, batch});
  ASSERT_EQ(result.size(), 2U);
  EXPECT_EQ(result[0].begin_ns, (std::vector<std::uint64_t>{1600, 1600, 1696}));
  EXPECT_EQ(result[1].begin_ns, (std::vector<std::uint64_t>{1696, 1696, 1696}));
}

TEST(RoundTrip, PauseOfYearsComesBack) {
  EventBatch batch;
  append(batch, {EventKind::malloc_, 16, 8, 24, 4096});
  append(batch, {EventKind::free_, 16 + (1ULL << 60U), 0, 0, 4096});
  expect_round_trip(batch);
}

TEST(RoundTrip, TablesComeBack) {
  const TemporaryFile file("tables");
  write_small_trace(file.path(), 2, 100);
  const Reader reader = Reader::open(file.path());
  EXPECT_TRUE(reader.damage().empty());
  EXPECT_EQ(reader.metadata().program, "/usr/bin/made");
  EXPECT_EQ(reader.metadata().command, "/usr/bin/made --up");
  EXPECT_EQ(reader.metadata().process_id, 4711U);
  EXPECT_TRUE(reader.metadata().free_stacks_recorded);
  EXPECT_TRUE(reader.metadata().is_fork_child);
  EXPECT_EQ(reader.metadata().unrecorded_processes,
            std::vector<std::string>{"77\t/usr/bin/su\tit is setuid"});
  EXPECT_EQ(reader.metadata().children_left_alone, 3U);
  EXPECT_EQ(reader.metadata().conditions, (std::vector<std::string>{"MALLOC_ARENA_MAX\t2", "cpus\t8"}));
  EXPECT_TRUE(reader.metadata().durations_recorded);
  EXPECT_EQ(reader.metadata().self_cost_allocation_ns, 61U);
  EXPECT_EQ(reader.metadata().notes, (std::vector<std::string>{"a note", "another"}));
  ASSERT_EQ(reader.modules().size(), 2U);
  EXPECT_EQ(reader.modules()[0].build_id, "00ff");
  EXPECT_EQ(reader.modules()[1].unloaded_ns, 900'000U) << "the module written again replaces itself";
  ASSERT_EQ(reader.frames().size(), 50U);
  EXPECT_EQ(reader.frames()[3].pc, 0x5555'5555'0000 + 3 * 37ULL);
  EXPECT_EQ(reader.frames()[7].module, Frame::no_module);
  EXPECT_EQ(reader.frames()[8].module, 0U);
  EXPECT_TRUE(reader.frames()[11].is_exact);
  ASSERT_EQ(reader.stacks().size(), 51U);
  EXPECT_EQ(reader.stacks()[13].frame, frame_truncated);
  EXPECT_EQ(reader.stacks()[50].parent, 24U);
  EXPECT_EQ(reader.stacks()[50].frame, 49U);
  ASSERT_EQ(reader.threads().size(), 3U);
  EXPECT_EQ(reader.threads()[2].thread_id, 4713U);
  EXPECT_EQ(reader.threads()[2].dropped, 2U);
  EXPECT_EQ(reader.threads()[2].waited_ns, 17U);
  ASSERT_EQ(reader.memory_samples().size(), 2U);
  EXPECT_EQ(reader.memory_samples()[1].recorder_bytes, 8192U);
  EXPECT_EQ(reader.end().reason, EndReason::exited);
  EXPECT_EQ(reader.end().status, 3);
  EXPECT_EQ(reader.end().events, 600U);
  EXPECT_EQ(reader.event_chunks().size(), 6U);
}

TEST(RoundTrip, SwitchesComeBackFromSeveralChunks) {
  const TemporaryFile file("switches");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  const Switch first[] = {{0, false}, {1'000'000, true}};
  const Switch second[] = {{1ULL << 60U, false}};
  ASSERT_TRUE(writer->write(first));
  ASSERT_TRUE(writer->write(second));
  ASSERT_TRUE(writer->finish({EndReason::exited}));
  const Reader reader = Reader::open(file.path());
  EXPECT_TRUE(reader.damage().empty());
  ASSERT_EQ(reader.switches().size(), 3U);
  EXPECT_FALSE(reader.switches()[0].is_on);
  EXPECT_TRUE(reader.switches()[1].is_on);
  EXPECT_EQ(reader.switches()[1].time_ns, 1'000'000U);
  EXPECT_EQ(reader.switches()[2].time_ns, 1ULL << 60U);
}

TEST(RoundTrip, ProcessorTimeAndRefaultsComeBack) {
  const TemporaryFile file("processor");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  const ProcessorSample samples[] = {{}, {1'000, 900, 300, 70, 3, 68, 140, 20, 44}};
  const RefaultRun runs[] = {{2'000, 0x7f1234567, 256, 99'000, 1}, {3'000, 5, 1, 300, 8}};
  ASSERT_TRUE(writer->write(samples));
  ASSERT_TRUE(writer->write(std::span<const RefaultRun>(runs).first(1)));
  ASSERT_TRUE(writer->write(std::span<const RefaultRun>(runs).subspan(1)));
  ASSERT_TRUE(writer->finish({EndReason::exited}));
  const Reader reader = Reader::open(file.path());
  EXPECT_TRUE(reader.damage().empty());
  ASSERT_EQ(reader.processor_samples().size(), 2U);
  EXPECT_EQ(reader.processor_samples()[0].time_ns, 0U);
  std::uint64_t place = 0;
  const std::uint64_t expected[] = {1'000, 900, 300, 70, 3, 68, 140, 20, 44};
  fields(reader.processor_samples()[1],
         [&](const char* name, std::uint64_t value) { EXPECT_EQ(value, expected[place++]) << name; });
  ASSERT_EQ(reader.refaults().size(), 2U);
  EXPECT_EQ(reader.refaults()[0].page, 0x7f1234567U);
  EXPECT_EQ(reader.refaults()[0].pages, 256U);
  EXPECT_EQ(reader.refaults()[1].time_ns, 3'000U);
  EXPECT_EQ(reader.refaults()[1].fault_ns, 300U);
  EXPECT_EQ(reader.refaults()[1].weight, 8U);
}

TEST(RoundTrip, PythonFramesComeBack) {
  const TemporaryFile file("python");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  const Frame frames[] = {{0x1234, Frame::no_module, false}, {python_module_start + 1, 0, true}};
  const PythonFrame named[] = {{1, "Service.handle", "/srv/app.py", 14}, {7, "", "", 0}};
  ASSERT_TRUE(writer->write(std::span<const Frame>(frames)));
  ASSERT_TRUE(writer->write(std::span<const PythonFrame>(named)));
  ASSERT_TRUE(writer->finish({EndReason::exited}));
  const Reader reader = Reader::open(file.path());
  EXPECT_TRUE(reader.damage().empty());
  ASSERT_EQ(reader.python_frames().size(), 2U);
  EXPECT_EQ(reader.python_frames()[0].frame, 1U);
  EXPECT_EQ(reader.python_frames()[0].function, "Service.handle");
  EXPECT_EQ(reader.python_frames()[0].file, "/srv/app.py");
  EXPECT_EQ(reader.python_frames()[0].line, 14U);
  EXPECT_EQ(reader.python_frames()[1].frame, 7U);
}

TEST(RoundTrip, NamesOfCodeComeBack) {
  const TemporaryFile file("code");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  const Frame frames[] = {{0x1234, Frame::no_module, false}};
  const CodeName names[] = {{0, "JS:*handle /srv/server.js:14:3"}, {7, ""}};
  ASSERT_TRUE(writer->write(std::span<const Frame>(frames)));
  ASSERT_TRUE(writer->write(std::span<const CodeName>(names)));
  ASSERT_TRUE(writer->finish({EndReason::exited}));
  const Reader reader = Reader::open(file.path());
  EXPECT_TRUE(reader.damage().empty());
  ASSERT_EQ(reader.code_names().size(), 2U);
  EXPECT_EQ(reader.code_names()[0].frame, 0U);
  EXPECT_EQ(reader.code_names()[0].name, "JS:*handle /srv/server.js:14:3");
  EXPECT_EQ(reader.code_names()[1].frame, 7U);
}

}  // namespace heapwright::trace::test
