// SPDX-License-Identifier: MIT
#include "figures/process_figures.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace heapwright::figures {
namespace {

TEST(ProcessFigures, ResidentBytesAndFaultsFollowTouchedPages) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  const std::uint64_t before = resident_bytes();
  const std::uint64_t faults = minor_faults();
  std::memset(memory, 1, bytes);
  EXPECT_NEAR(static_cast<double>(resident_bytes() - before), bytes, bytes / 50.0);
  EXPECT_GE(minor_faults() - faults, bytes / page_bytes);
  EXPECT_GE(peak_resident_bytes(), bytes);
  munmap(memory, bytes);
  EXPECT_LT(resident_bytes(), before + bytes / 10);
}

TEST(ProcessFigures, KilobyteLineReadsWholeNames) {
  constexpr std::string_view text =
      "SwapTotal:  1 kB\nMemAvailable:   12345 kB\nRss: 7 kB\nVmHWM:\t   9 kB\n";
  EXPECT_EQ(kilobyte_line(text, "MemAvailable:"), 12345u * 1024);
  EXPECT_EQ(kilobyte_line(text, "Rss:"), 7u * 1024);
  EXPECT_EQ(kilobyte_line(text, "VmHWM:"), 9u * 1024);
  EXPECT_EQ(kilobyte_line(text, "Total:"), 0u);
  EXPECT_EQ(kilobyte_line(text, "Missing:"), 0u);
}

TEST(ProcessFigures, AnonymousMemoryFollowsTouchedPages) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  const auto before = anonymous_memory();
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, bytes);
  const auto during = anonymous_memory();
  munmap(memory, bytes);
  const auto after = anonymous_memory();
  EXPECT_NEAR(static_cast<double>(during.resident_bytes - before.resident_bytes), bytes, bytes / 20.0);
  EXPECT_LT(after.resident_bytes, before.resident_bytes + bytes / 20);
  EXPECT_GE(after.peak_bytes + bytes / 20, during.resident_bytes);
}

TEST(ProcessFigures, SomeMemoryIsAvailable) { EXPECT_GT(available_bytes(), 1u << 20); }

TEST(ProcessFigures, WaitingCountsAsAVoluntarySwitch) {
  const std::uint64_t before = thread_voluntary_switches();
  const timespec time{0, 1'000'000};
  for (int i = 0; i < 3; ++i) nanosleep(&time, nullptr);
  EXPECT_GE(thread_voluntary_switches() - before, 3u);
}

}  // namespace
}  // namespace heapwright::figures
