// SPDX-License-Identifier: MIT
#include "attach/frame_table.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "attach/symbol_table.hpp"

namespace heapwright::attach {
namespace {

// Of this program: its unwind information, and the table that the linker made of it.
struct Linked {
  std::uint64_t frames_at = 0;
  std::span<const std::uint8_t> frames;
  std::uint64_t table_at = 0;
};

Linked linked() {
  Linked found;
  const std::uint64_t entry = getauxval(AT_ENTRY);
  const SectionPlace place = find_section(getpid(), entry, ".eh_frame");
  found.frames_at = place.begin;
  found.frames = {reinterpret_cast<const std::uint8_t*>(place.begin), place.bytes};
  found.table_at = find_section(getpid(), entry, ".eh_frame_hdr").begin;
  return found;
}

TEST(FrameTables, AreThoseThatTheLinkerMakes) {
  const Linked own = linked();
  ASSERT_NE(own.table_at, 0U);
  const std::vector<std::uint8_t> made = make_frame_table(own.frames, own.frames_at, own.table_at);
  // The linker's head has 4 bytes more: where the frames are.
  constexpr std::size_t made_head_bytes = 8;
  constexpr std::size_t linked_head_bytes = 12;
  const auto* const table = reinterpret_cast<const std::uint8_t*>(own.table_at);
  std::uint32_t count = 0;
  std::memcpy(&count, table + linked_head_bytes - sizeof count, sizeof count);
  ASSERT_GT(count, 100U);
  ASSERT_EQ(made.size(), made_head_bytes + count * 8U);
  EXPECT_EQ(std::memcmp(made.data() + made_head_bytes, table + linked_head_bytes, count * 8U), 0);
}

TEST(FrameTables, OfAProgramElsewhereHaveTheSameDistances) {
  const Linked own = linked();
  constexpr std::uint64_t away = 0x1234000;
  std::vector<std::uint8_t> copy(own.frames.begin(), own.frames.end());
  EXPECT_EQ(make_frame_table(copy, own.frames_at + away, own.table_at + away),
            make_frame_table(own.frames, own.frames_at, own.table_at));
}

TEST(FrameTables, CannotBeTooFarAway) {
  const Linked own = linked();
  EXPECT_TRUE(make_frame_table(own.frames, own.frames_at, own.frames_at + (std::uint64_t{3} << 30)).empty());
}

TEST(FrameTables, OfNothingAreEmpty) { EXPECT_TRUE(make_frame_table({}, 0x1000, 0x2000).empty()); }

TEST(FrameTables, OfDamagedFramesAreWithinThem) {
  const Linked own = linked();
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t bytes = std::min<std::size_t>(own.frames.size(), 1 + random() % 4096);
    const auto copy = std::make_unique<std::uint8_t[]>(bytes);
    std::memcpy(copy.get(), own.frames.data(), bytes);
    for (int changes = static_cast<int>(random() % 8); changes > 0; --changes) {
      copy[random() % bytes] = static_cast<std::uint8_t>(random());
    }
    const auto table = make_frame_table({copy.get(), bytes}, own.frames_at, own.table_at);
    EXPECT_LE(table.size(), 8 + bytes);
  }
}

}  // namespace
}  // namespace heapwright::attach
