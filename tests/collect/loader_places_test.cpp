// SPDX-License-Identifier: MIT
#include "collect/loader_places.hpp"

#include <gtest/gtest.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>

namespace heapwright::collect {
namespace {

TEST(LoaderPlaces, AreThoseOfThisProcess) {
  const LoaderPlaces places = find_loader_places(getpid(), getauxval(AT_BASE));
  ASSERT_NE(places.debugger_call, 0U);
  int state = -1;
  std::memcpy(&state, reinterpret_cast<const void*>(places.state), sizeof state);
  EXPECT_EQ(state, r_debug::RT_CONSISTENT);
  reinterpret_cast<void (*)()>(places.debugger_call)();  // does nothing, for debuggers to stop there
}

TEST(LoaderPlaces, AStaticProgramHasNone) { EXPECT_EQ(find_loader_places(getpid(), 0).debugger_call, 0U); }

TEST(LoaderPlaces, AreNotInOtherCode) {
  const auto vdso = getauxval(AT_SYSINFO_EHDR);
  EXPECT_EQ(find_loader_places(getpid(), vdso).debugger_call, 0U);
  EXPECT_EQ(find_loader_places(getpid(), getauxval(AT_PHDR) & ~4095UL).debugger_call, 0U);
}

}  // namespace
}  // namespace heapwright::collect
