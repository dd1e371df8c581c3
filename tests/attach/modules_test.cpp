// SPDX-License-Identifier: MIT
// The test reads itself: the loader says where its functions are.
#include "attach/modules.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "attach/entry_points.hpp"
#include "attach/refusal.hpp"
#include "attach/target_maps.hpp"

namespace heapwright::attach {
namespace {

class Itself : public testing::Test {
 protected:
  TargetMemory memory{getpid()};
  std::map<std::uint64_t, std::uint64_t> auxiliary = read_auxiliary(getpid());
  std::vector<Module> modules = read_modules(memory, auxiliary);
};

std::uint64_t known(const char* name) { return reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, name)); }

TEST_F(Itself, FunctionsAreWhereTheLoaderSays) {
  ASSERT_FALSE(modules.empty());
  for (const char* name : {"getpid", "_Znwm", "_ZdlPv", "pthread_create", "gnu_get_libc_version"}) {
    bool is_found = false;
    for (const Module& module : modules) {
      const auto symbol = find_symbol(memory, module, name);
      if (!symbol) continue;
      EXPECT_EQ(symbol->address, known(name)) << name << " in " << module.path;
      EXPECT_TRUE(symbol->is_function);
      is_found = true;
      break;
    }
    EXPECT_TRUE(is_found) << name;
  }
}

TEST_F(Itself, ANameThatNobodyHasIsNotFound) {
  for (const Module& module : modules) EXPECT_FALSE(find_symbol(memory, module, "no_function_has_this_name"));
}

TEST_F(Itself, AFunctionThatIsChosenAtTheStartIsToldApart) {
  for (const Module& module : modules) {
    const auto symbol = find_symbol(memory, module, "strlen");
    if (symbol && module.path.find("libc.so") != std::string::npos) {
      EXPECT_FALSE(symbol->is_function);
    }
  }
}

TEST_F(Itself, TheKernelsObjectHasAClock) {
  const auto kernel = read_kernel_module(memory, auxiliary);
  if (!kernel) GTEST_SKIP() << "no vdso here";
  const auto clock = find_symbol(memory, *kernel, "__vdso_clock_gettime");
  ASSERT_TRUE(clock);
  timespec by_it{};
  timespec by_libc{};
  reinterpret_cast<int (*)(clockid_t, timespec*)>(clock->address)(CLOCK_MONOTONIC, &by_it);
  clock_gettime(CLOCK_MONOTONIC, &by_libc);
  EXPECT_LE(by_libc.tv_sec - by_it.tv_sec, 1);
}

TEST_F(Itself, NoModuleIsNoLoader) { EXPECT_THROW(find_allocator(memory, {}, {}), Refusal); }

TEST_F(Itself, EveryThrowingOperatorHasAnotherForm) {
  using agent::Entry;
  int forms = 0;
  for (std::size_t index = 0; index < agent::entry_count; ++index) {
    const Entry form = nothrow_form(static_cast<Entry>(index));
    if (form == Entry::count_) continue;
    ++forms;
    const std::string name = agent::entry_names[index];
    EXPECT_EQ(agent::entry_names[agent::index_of(form)], name + "RKSt9nothrow_t");
  }
  EXPECT_EQ(forms, 4);
}

}  // namespace
}  // namespace heapwright::attach
