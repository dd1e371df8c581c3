// SPDX-License-Identifier: MIT
// An executable whose segments leave gaps: linked in several ways by CMakeLists.txt.
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "witness.hpp"

namespace heapwright::unwind {
namespace {

// What the loader's own list says about the program, which is its first object.
struct Expected {
  std::uint64_t start = ~0ULL;
  std::uint64_t end = 0;
  std::uint32_t gaps = 0;  // pages between segments that belong to none
  std::string build_id;
};

std::uint64_t page_of(std::uint64_t address) { return address & ~4095ULL; }

void take_build_id_of(std::uint64_t at, std::uint64_t end, std::string& build_id) {
  while (at + sizeof(ElfW(Nhdr)) < end) {
    const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
    const std::uint64_t value = at + sizeof note + ((note.n_namesz + 3) & ~3U);
    if (note.n_type == NT_GNU_BUILD_ID) {
      build_id.assign(reinterpret_cast<const char*>(value), note.n_descsz);
    }
    at = value + ((note.n_descsz + 3) & ~3U);
  }
}

Expected expected_program() {
  Expected expected;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        auto& found = *static_cast<Expected*>(to);
        for (const ElfW(Phdr)* segment = info->dlpi_phdr; segment != info->dlpi_phdr + info->dlpi_phnum;
             ++segment) {
          const std::uint64_t begin = info->dlpi_addr + segment->p_vaddr;
          if (segment->p_type == PT_LOAD) {
            const std::uint64_t last_page = page_of(found.end + 4095);
            found.gaps += found.end != 0 && page_of(begin) > last_page ? 1 : 0;
            found.start = std::min(found.start, page_of(begin));
            found.end = std::max(found.end, begin + segment->p_memsz);
          }
          if (segment->p_type == PT_NOTE) take_build_id_of(begin, begin + segment->p_memsz, found.build_id);
        }
        return 1;  // no further object
      },
      &expected);
  return expected;
}

[[gnu::noinline]] void capture_at(int depth) {
  if (depth == 0) {
    checked_capture();
  } else {
    capture_at(depth - 1);
  }
  KEEP(depth);
}

TEST(Gaps, StacksAreWhole) {
  TestProcess process;
  const Checks checks;
  for (const int depth : {0, 1, 7, 40, 7, 90}) capture_at(depth);
  EXPECT_EXACT(checks, 6U);
}

TEST(Gaps, TheProgramIsOneModule) {
  const Expected expected = expected_program();
  const char* has_gaps = std::getenv("HAS_GAPS");  // from ctest
  if (has_gaps != nullptr) {
    EXPECT_EQ(expected.gaps > 0, *has_gaps == '1');
  }
  ASSERT_FALSE(expected.build_id.empty());
  TestProcess process;
  for (const int depth : {2, 5}) capture_at(depth);
  std::uint32_t programs = 0;
  for (std::uint32_t i = 0; i < process.block().module_count; ++i) {
    const session::ModuleEntry& module = process.block().modules[i];
    if (module.start >= expected.end || module.end <= expected.start) continue;
    ++programs;
    EXPECT_EQ(module.start, expected.start);
    EXPECT_EQ(module.end, expected.end);
    const auto* id = reinterpret_cast<const char*>(module.build_id);
    EXPECT_EQ(std::string(id, module.build_id_bytes), expected.build_id);
  }
  EXPECT_EQ(programs, 1U);
  forget_unloaded(process.tables());
  EXPECT_EQ(process.block().modules[0].unloaded_ticks.load(), 0U);
}

}  // namespace
}  // namespace heapwright::unwind
