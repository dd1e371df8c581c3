// SPDX-License-Identifier: MIT
#include "made_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "trace/column.hpp"
#include "trace/format.hpp"

namespace heapwright::trace::test {

namespace {

constexpr std::array all_kinds = {EventKind::none,
                                  EventKind::malloc_,
                                  EventKind::calloc_,
                                  EventKind::realloc_,
                                  EventKind::reallocarray_,
                                  EventKind::posix_memalign_,
                                  EventKind::valloc_,
                                  EventKind::new_plain,
                                  EventKind::new_array_aligned_nothrow,
                                  EventKind::free_,
                                  EventKind::free_,
                                  EventKind::free_,
                                  EventKind::free_sized_,
                                  EventKind::delete_plain,
                                  EventKind::delete_sized,
                                  EventKind::delete_array_sized_aligned,
                                  EventKind::malloc_usable_size_,
                                  EventKind::malloc_trim_,
                                  EventKind::mallopt_,
                                  EventKind::mmap_,
                                  EventKind::munmap_,
                                  EventKind::mremap_,
                                  EventKind::brk_,
                                  EventKind::sbrk_};

std::uint64_t any_number(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return 0;
    case 1:
      return UINT64_MAX;
    case 2:
      return random();
    case 3:
      return random() & 0xffff'ffff;
    default:
      return random() % 300;
  }
}

std::uint64_t any_address(std::mt19937_64& random, const EventBatch& before) {
  const std::uint64_t choice = random() % 8;
  if (choice < 5 && before.count() > 0) return before.address[random() % before.count()];
  if (choice == 5) return any_number(random);
  return 0x7f00'0000'0000 + (random() % 4096) * 16;
}

}  // namespace

EventBatch random_batch(std::uint64_t seed, std::size_t count, std::uint32_t stacks) {
  std::mt19937_64 random(seed);
  EventBatch batch;
  std::uint64_t begin_ns = random() % 3 == 0 ? 0 : random() % (1ULL << 50U);
  for (std::size_t i = 0; i < count; ++i) {
    EventFields event;
    event.kind = all_kinds[random() % all_kinds.size()];
    begin_ns += random() % 50 == 0 ? random() % (1ULL << 40U) : random() % 6000;
    event.begin_ns = begin_ns;
    event.duration_ns = static_cast<std::uint32_t>(random() % 4 == 0 ? any_number(random) : random() % 2000);
    event.size = any_number(random);
    event.usable = any_number(random);
    event.address = any_address(random, batch);
    if (has_old_address(event.kind)) event.old_address = any_address(random, batch);
    if (has_alignment(event.kind)) event.alignment_log2 = static_cast<std::uint8_t>(random() % 64);
    event.stack =
        static_cast<std::uint32_t>(random() % 2 == 0 ? random() % stacks : random() % std::min(stacks, 5U));
    append(batch, event);
  }
  return batch;
}

EventBatch as_decoded(EventBatch batch) {
  for (std::size_t i = 0; i < batch.count(); ++i) {
    batch.begin_ns[i] = batch.begin_ns[i] / time_quantum_ns * time_quantum_ns;
    batch.duration_ns[i] = batch.duration_ns[i] / duration_quantum_ns * duration_quantum_ns;
    if (i > 0) batch.begin_ns[i] = std::max(batch.begin_ns[i], batch.begin_ns[i - 1]);
    if (!has_alignment(batch.kind[i])) batch.alignment_log2[i] = 0;
    if (!has_old_address(batch.kind[i])) batch.old_address[i] = 0;
  }
  return batch;
}

void expect_equal(const EventBatch& actual, const EventBatch& expected) {
  EXPECT_EQ(actual.kind, expected.kind);
  EXPECT_EQ(actual.alignment_log2, expected.alignment_log2);
  EXPECT_EQ(actual.duration_ns, expected.duration_ns);
  EXPECT_EQ(actual.stack, expected.stack);
  EXPECT_EQ(actual.begin_ns, expected.begin_ns);
  EXPECT_EQ(actual.size, expected.size);
  EXPECT_EQ(actual.usable, expected.usable);
  EXPECT_EQ(actual.address, expected.address);
  EXPECT_EQ(actual.old_address, expected.old_address);
  EXPECT_EQ(actual.kernel, expected.kernel);
}

bool write_stacks(Writer& writer, std::uint32_t count) {
  std::vector<Frame> frames;
  std::vector<StackNode> stacks;
  for (std::uint32_t i = 0; i < count; ++i) {
    frames.push_back({0x5555'5555'0000 + i * 37ULL, i % 7 == 0 ? Frame::no_module : i % 2, i % 11 == 0});
    stacks.push_back({i / 2, i % 13 == 12 ? frame_truncated : i});
  }
  return writer.write(std::span<const Frame>(frames)) && writer.write(std::span<const StackNode>(stacks));
}

std::vector<Mapping> made_mappings() {
  constexpr auto read_write =
      static_cast<std::uint8_t>(MappingFlag::readable) | static_cast<std::uint8_t>(MappingFlag::writable);
  return {{0x5555'5555'0000, 0x5555'5556'0000, 0x2000, 5, "/usr/bin/made"},
          {0x5555'5556'0000, 0x5555'6000'0000, 0, read_write, "[heap]"},
          {0x7fff'f000'0000, 0x7fff'f010'0000, 0, read_write, "[stack]"}};
}

ResidencyScan made_scan(std::uint64_t begin_ns) {
  ResidencyScan scan;
  scan.cause = ScanCause::trim;
  scan.before = {5 << 20U, 1 << 20U, 4096, 8192, 40960};
  scan.after = {6 << 20U, 1 << 20U, 4096, 0, 45056};
  scan.cpu_ns = 77'000;
  scan.windows = {{0, 0x5555'5560'0000, begin_ns + 50, begin_ns + 20'050, 0, 3},
                  {0x5555'5560'0000, 0x5555'5570'0000, begin_ns + 20'050, begin_ns + 20'050, 3, 0},
                  {0x7fff'f000'0000, 0x7fff'f010'0000, begin_ns + 30'000, begin_ns + 190'000, 3, 2}};
  scan.runs = {{0x5555'5555'0000, 0x5555'5555'3000, PageKind::file, false},
               {0x5555'5556'0000, 0x5555'5558'0000, PageKind::anonymous, true},
               {0x5555'5558'0000, 0x5555'5558'1000, PageKind::swapped, false},
               {0x7fff'f000'0000, 0x7fff'f000'1000, PageKind::anonymous, false},
               {0x7fff'f00f'f000, 0x7fff'f010'0000, PageKind::anonymous, false}};
  return scan;
}

void write_small_trace(const std::string& path, std::size_t chunks, std::size_t events) {
  int error = 0;
  const auto writer = Writer::create(path, false, error);
  ASSERT_TRUE(writer) << error;
  Metadata metadata;
  metadata.program = "/usr/bin/made";
  metadata.command = "/usr/bin/made --up";
  metadata.host = "nowhere";
  metadata.allocator = "glibc 2.36";
  metadata.recorder_version = "0.1.0";
  metadata.process_id = 4711;
  metadata.parent_process_id = 1;
  metadata.start_unix_ns = 1'700'000'000'000'000'000;
  metadata.free_stacks_recorded = true;
  metadata.is_fork_child = true;
  metadata.unrecorded_processes = {"77\t/usr/bin/su\tit is setuid"};
  metadata.children_left_alone = 3;
  metadata.conditions = {"MALLOC_ARENA_MAX\t2", "cpus\t8"};
  metadata.self_cost_allocation_ns = 61;
  metadata.notes = {"a note", "another"};
  ASSERT_TRUE(writer->write(metadata));
  const Module modules[] = {
      {0x5555'5555'0000, 0x5555'5556'0000, 0x5555'5555'0000, 0, 0, "/usr/bin/made", "00ff"},
      {0x7f00'0000'0000, 0x7f00'0010'0000, 0x7f00'0000'0000, 500, 0, "/lib/some.so", ""}};
  ASSERT_TRUE(writer->write(modules));
  ASSERT_TRUE(write_stacks(*writer, 50));
  for (std::uint32_t thread = 0; thread < 3; ++thread) {
    ProgramThread program(thread, 50);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      ASSERT_TRUE(writer->write_events(thread, chunk * events, program.run(events)));
    }
  }
  const MemorySample samples[] = {{0, 1 << 20U, 2 << 20U, 0, 4096}, {1'000'000, 3 << 20U, 2 << 20U, 0, 8192}};
  ASSERT_TRUE(writer->write(samples));
  ASSERT_TRUE(writer->write_mappings(0, made_mappings()));
  ASSERT_TRUE(writer->write_scan(0, 1'000'000, 1'200'000, made_scan(1'000'000)));
  std::vector<Thread> threads;
  for (std::uint32_t i = 0; i < 3; ++i) {
    threads.push_back({i, 4711 + i, "made", 0, 0, chunks * events, i, 17});
  }
  ASSERT_TRUE(writer->write(std::span<const Thread>(threads)));
  Module closed = modules[1];
  closed.unloaded_ns = 900'000;
  ASSERT_TRUE(writer->write(std::span<const Module>(&closed, 1)));
  ASSERT_TRUE(writer->finish({EndReason::exited, 3, 2'000'000, 3 * chunks * events, 3, 1 << 22U}))
      << writer->error_number();
}

}  // namespace heapwright::trace::test
