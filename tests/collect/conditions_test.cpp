// SPDX-License-Identifier: MIT
#include "collect/conditions.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace heapwright::collect {
namespace {

using Lines = std::vector<std::string>;
using namespace std::string_literals;

TEST(Conditions, OnlyAllocatorsAreReadOutOfAnEnvironment) {
  for (const char* name :
       {"MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "MALLOC_CONF", "_RJEM_MALLOC_CONF", "JE_MALLOC_CONF",
        "MIMALLOC_PURGE_DELAY", "TCMALLOC_RELEASE_RATE", "HEAPWRIGHT_HEAP_MODE", "PYTHONMALLOC"}) {
    EXPECT_TRUE(is_allocator_setting(name)) << name;
  }
  for (const char* name : {"", "PATH", "PASSWORD", "MALLOC_", "MALLOC_TRACE", "malloc_conf", "MIMALLOC",
                           "XMIMALLOC_PURGE_DELAY", "MALLOC_ARENA_MAX_SECRET", "HEAPWRIGHT_SESSION"}) {
    EXPECT_FALSE(is_allocator_setting(name)) << name;
  }
}

TEST(Conditions, TheFirstOfTwoVariablesIsTheAllocators) {
  const std::string environment = "PATH=/bin\0MALLOC_CONF=a=1\0MALLOC_CONF=a=2\0MALLOC_ARENA_MAX\0"s;
  EXPECT_EQ(allocator_settings_in(environment), Lines{"MALLOC_CONF\ta=1"});
}

TEST(Conditions, AnEnvironmentMayEndAnywhereAndHoldNothing) {
  EXPECT_EQ(allocator_settings_in(""), Lines{});
  EXPECT_EQ(allocator_settings_in("\0\0=\0"s), Lines{});
  EXPECT_EQ(allocator_settings_in("PYTHONMALLOC="), Lines{"PYTHONMALLOC\t"});
}

TEST(Conditions, LongValuesAreCut) {
  const Lines found = allocator_settings_in("MALLOC_CONF=" + std::string(100'000, 'x'));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].size(), std::string("MALLOC_CONF\t").size() + 4096);
}

TEST(Conditions, LimitsThatAreSet) {
  const std::string limits =
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max data size             unlimited            unlimited            bytes     \n"
      "Max stack size            8388608              unlimited            bytes     \n"
      "Max address space         3072000              unlimited            bytes     \n";
  EXPECT_EQ(limits_in(limits), (Lines{"address_space_limit_bytes\t3072000", "stack_limit_bytes\t8388608"}));
  EXPECT_EQ(limits_in(""), Lines{});
}

TEST(Conditions, AProcessThatIsGoneHasTheMachinesOnly) {
  const Lines found = conditions_of(0x7fffffff, true);
  EXPECT_EQ(found.front(), "environment\tunreadable");
  EXPECT_TRUE(std::none_of(found.begin(), found.end(),
                           [](const std::string& line) { return line.starts_with("stack_limit"); }));
}

TEST(Conditions, OfThisProcess) {
  const Lines found = conditions_of(static_cast<std::uint32_t>(getpid()), false);
  const auto has = [&found](std::string_view name) {
    return std::any_of(found.begin(), found.end(),
                       [name](const std::string& line) { return line.starts_with(name); });
  };
  EXPECT_TRUE(has("cpus\t"));
  EXPECT_TRUE(has("machine_memory_bytes\t"));
  EXPECT_FALSE(has("environment\t"));
}

TEST(Conditions, ArchitectureAndKernelAreThoseOfTheMachine) {
  const Lines found = conditions_of(static_cast<std::uint32_t>(getpid()), false);
  const auto of = [&found](std::string_view name) {
    const auto line = std::find_if(found.begin(), found.end(),
                                   [name](const std::string& text) { return text.starts_with(name); });
    return line == found.end() ? std::string{} : line->substr(name.size());
  };
#ifdef __x86_64__
  EXPECT_EQ(of("architecture\t"), "x86_64");
#else
  EXPECT_EQ(of("architecture\t"), "aarch64");
#endif
  std::string release;
  std::ifstream("/proc/sys/kernel/osrelease") >> release;
  ASSERT_FALSE(release.empty());
  EXPECT_EQ(of("kernel\t"), release.substr(0, release.find('-')));
}

}  // namespace
}  // namespace heapwright::collect
