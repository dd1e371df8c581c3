// SPDX-License-Identifier: MIT
#include "made_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "trace/column.hpp"
#include "trace/format.hpp"

namespace heapwright::trace::test {

namespace {

constexpr std::array all_kinds = {
    EventKind::none, EventKind::malloc_, EventKind::calloc_, EventKind::realloc_, EventKind::reallocarray_,
    EventKind::posix_memalign_, EventKind::valloc_, EventKind::new_plain, EventKind::new_array_aligned_nothrow,
    EventKind::free_, EventKind::free_, EventKind::free_, EventKind::free_sized_, EventKind::delete_plain,
    EventKind::delete_sized, EventKind::delete_array_sized_aligned, EventKind::malloc_usable_size_,
    EventKind::malloc_trim_, EventKind::mallopt_, EventKind::mmap_, EventKind::munmap_, EventKind::mremap_,
    EventKind::brk_, EventKind::sbrk_};

std::uint64_t any_number(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0: return 0;
    case 1: return UINT64_MAX;
    case 2: return random();
    case 3: return random() & 0xffff'ffff;
    default: return random() % 300;
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
    event.stack = static_cast<std::uint32_t>(random() % 2 == 0 ? random() % stacks : random() % std::min(stacks, 5U));
    append(batch, event);
  }
  return batch;
}

ProgramThread::ProgramThread(std::uint64_t seed, std::uint32_t stacks) : random_(seed), stacks_(stacks) {
  top_ += (seed % 64) << 36U;
}

EventFields ProgramThread::call(EventKind kind, std::uint32_t stack) {
  EventFields event;
  event.kind = kind;
  clock_ns_ += 40 + random_() % 60 + (random_() % 16 == 0 ? random_() % 3000 : 0);
  event.begin_ns = clock_ns_;
  event.duration_ns = static_cast<std::uint32_t>(16 + random_() % 24 + (random_() % 50 == 0 ? random_() % 4000 : 0));
  clock_ns_ += event.duration_ns;
  event.stack = stack;
  return event;
}

void ProgramThread::allocate(EventBatch& batch, std::uint32_t site) {
  EventFields event = call(site % 3 == 0 ? EventKind::new_plain : EventKind::malloc_, site);
  const bool is_varied = site % 4 == 1;
  event.size = is_varied ? 1 + random_() % 200 : 16 + (site * 40503U) % 500;
  event.usable = std::max<std::uint64_t>(24, ((event.size + 8 + 15) & ~15ULL) - 8);
  auto& reusable = released_[event.usable];
  if (!reusable.empty()) {
    event.address = reusable.back();
    reusable.pop_back();
  } else {
    event.address = top_;
    top_ += event.usable + 8;
  }
  living_.push_back({event.address, event.usable});
  append(batch, event);
}

void ProgramThread::release(EventBatch& batch, std::size_t place) {
  EventFields event = call(EventKind::free_, 0);
  const Block block = living_[place];
  event.address = block.address;
  released_[block.usable].push_back(block.address);
  living_.erase(living_.begin() + static_cast<std::ptrdiff_t>(place));
  append(batch, event);
}

EventBatch ProgramThread::run(std::size_t count) {
  EventBatch batch;
  while (batch.count() < count) {
    if (random_() % 200 == 0) phase_ = static_cast<std::uint32_t>(random_() % 64);
    const std::size_t burst = 1 + random_() % 6;
    for (std::size_t i = 0; i < burst && batch.count() < count; ++i) {
      const bool is_usual = random_() % 16 != 0;
      const auto step = static_cast<std::uint32_t>(is_usual ? phase_ * 6 + i : random_() % stacks_);
      allocate(batch, 1 + step % (stacks_ - 1));
    }
    // Most blocks go soon, newest first; some stay; some old one goes.
    std::size_t releases = living_.size() > 2000 ? burst : random_() % (burst + 1);
    for (; releases > 0 && !living_.empty() && batch.count() < count; --releases) {
      const bool is_old = random_() % 20 == 0;
      release(batch, is_old ? random_() % living_.size() : living_.size() - 1);
    }
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
  metadata.self_cost_allocation_ns = 61;
  metadata.notes = {"a note", "another"};
  ASSERT_TRUE(writer->write(metadata));
  const Module modules[] = {{0x5555'5555'0000, 0x5555'5556'0000, 0x5555'5555'0000, 0, 0, "/usr/bin/made", "00ff"},
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
  std::vector<Thread> threads;
  for (std::uint32_t i = 0; i < 3; ++i) threads.push_back({i, 4711 + i, "made", 0, 0, chunks * events, i, 17});
  ASSERT_TRUE(writer->write(std::span<const Thread>(threads)));
  Module closed = modules[1];
  closed.unloaded_ns = 900'000;
  ASSERT_TRUE(writer->write(std::span<const Module>(&closed, 1)));
  ASSERT_TRUE(writer->finish({EndReason::exited, 3, 2'000'000, 3 * chunks * events, 3, 1 << 22U})) << writer->error_number();
}

}  // namespace heapwright::trace::test
