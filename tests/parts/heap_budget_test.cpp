// SPDX-License-Identifier: MIT
// length: every way to allocate, and one test for each promise
// Built as a dynamic and as a static program, and under the sanitizers.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#define HEAPWRIGHT_HEAP_BUDGET_IMPLEMENTATION
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "heapwright/heap_budget.hpp"

namespace {

using heapwright::budget_scope;
using heapwright::heap_allowance;
using heapwright::heap_budget;
using heapwright::heap_limits;

void* volatile sink;
template <class T>
T* used(T* pointer) {
  sink = const_cast<void*>(static_cast<const volatile void*>(pointer));
  return pointer;
}

// The same where several threads come by.
template <class T>
T* used_here(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

struct Way {
  const char* name;
  void (*run)();
};

struct alignas(256) Aligned {
  char bytes[256];
};

const Way ways[] = {
    {"new", [] { delete used(new int); }},
    {"new[]", [] { delete[] used(new int[10]); }},
    {"new(nothrow)", [] { delete used(new (std::nothrow) int); }},
    {"aligned new", [] { delete used(new Aligned); }},
    {"aligned new[](nothrow)", [] { delete[] used(new (std::nothrow) Aligned[2]); }},
    {"malloc", [] { std::free(used(std::malloc(10))); }},
    {"calloc", [] { std::free(used(std::calloc(3, 10))); }},
    {"realloc", [] { std::free(used(std::realloc(nullptr, 10))); }},
    {"posix_memalign",
     [] {
       void* block = nullptr;
       if (posix_memalign(&block, 64, 100) == 0) std::free(used(block));
     }},
    {"aligned_alloc", [] { std::free(used(std::aligned_alloc(64, 128))); }},
    {"memalign", [] { std::free(used(memalign(64, 128))); }},
    {"valloc", [] { std::free(used(valloc(100))); }},
    {"pvalloc", [] { std::free(used(pvalloc(100))); }},
    {"reallocarray", [] { std::free(used(reallocarray(nullptr, 3, 10))); }},
    {"strdup", [] { std::free(used(strdup("text"))); }},
    {"std::function",
     [] {
       const std::string captured(30, 'x');
       const std::function<std::size_t()> f = [captured] { return captured.size(); };
       sink = reinterpret_cast<void*>(f());
     }},
    {"exception",
     [] {
       try {
         throw std::runtime_error("thrown");
       } catch (const std::runtime_error&) {
       }
     }},
};

TEST(HeapBudget, HookIsAlive) { EXPECT_TRUE(heapwright::is_heap_hook_alive()); }

TEST(HeapBudget, SeesEveryWayToAllocate) {
  for (const Way& way : ways) {
    for (const auto scope : {budget_scope::this_thread, budget_scope::whole_process}) {
      way.run();  // what is done once, is done
      heap_budget none({.allocations = 0}, scope);
      way.run();
      none.close();
      EXPECT_FALSE(none.is_kept()) << way.name;
      EXPECT_NE(none.message().find("allocations, at most 0"), std::string::npos) << way.name;
      heap_budget enough({.allocations = 10, .bytes = 10000, .peak_bytes = 10000, .live_bytes = 0}, scope);
      way.run();
      EXPECT_EQ(enough.message(), "") << way.name;
    }
  }
}

TEST(HeapBudget, CountsExactly) {
  heap_budget budget(heap_limits{});
  void* a = used(std::malloc(1000));
  void* b = used(std::malloc(3000));
  a = used(std::realloc(a, 2000));
  std::free(b);
  budget.close();
  const auto usage = budget.usage();
  EXPECT_EQ(usage.allocations, 3U);
  EXPECT_EQ(usage.releases, 2U);
  EXPECT_EQ(usage.bytes, 6000U);
  EXPECT_GE(usage.live_bytes, 2000);
  EXPECT_LE(usage.live_bytes, 2100);
  EXPECT_GE(usage.peak_bytes, 5000);
  std::free(a);
}

TEST(HeapBudget, FailsNonFatallyInGoogleTest) {
  EXPECT_NONFATAL_FAILURE(
      {
        HEAPWRIGHT_HEAP_BUDGET(.allocations = 1);
        for (int i = 0; i < 3; ++i) delete used(new int);
      },
      "3 allocations, at most 1");
  EXPECT_NONFATAL_FAILURE(
      {
        HEAPWRIGHT_HEAP_BUDGET(.peak_bytes = 1000);
        delete[] used(new char[5000]);
      },
      "bytes at the peak, at most 1000");
  EXPECT_NONFATAL_FAILURE({ HEAPWRIGHT_HEAP_BUDGET(.at_least_allocations = 1); },
                          "0 allocations, at least 1");
  int* kept = nullptr;
  EXPECT_NONFATAL_FAILURE(
      {
        HEAPWRIGHT_HEAP_BUDGET(.live_bytes = 0);
        kept = used(new int);
      },
      "bytes still live, at most 0");
  delete kept;
}

[[gnu::noinline]] void the_offender() {
  delete[] used(new char[777]);
  sink = nullptr;
}

TEST(HeapBudget, NamesTheOffender) {
  heap_budget budget({.allocations = 0});
  the_offender();
  const std::string message = budget.message();
  EXPECT_NE(message.find("777 bytes allocated by"), std::string::npos) << message;
  EXPECT_GE(std::count(message.begin(), message.end(), '\n'), 4) << message;
}

TEST(HeapBudget, NestsAndAllows) {
  heap_budget outer(heap_limits{});
  delete used(new int);
  {
    heap_budget inner({.allocations = 1});
    delete used(new int);
    {
      const heap_allowance logging;
      delete[] used(new char[1000]);
      heap_budget within(heap_limits{});
      delete used(new int);
      EXPECT_EQ(within.usage().allocations, 1U);
    }
    EXPECT_EQ(inner.usage().allocations, 1U);
    EXPECT_TRUE(inner.is_kept());
  }
  EXPECT_EQ(outer.usage().allocations, 2U);
}

TEST(HeapBudget, TellsThreadsFromTheProcess) {
  heap_budget own(heap_limits{});
  heap_budget all(heap_limits{}, budget_scope::whole_process);
  std::thread([] {
    for (int i = 0; i < 100; ++i) delete used(new int);
  }).join();
  EXPECT_LT(own.usage().allocations, 100U);
  EXPECT_GE(all.usage().allocations, 100U);
  all.close();
}

// Budgets open, close and are read while other threads count into them.
TEST(HeapBudget, CountsThreadsThatRunMeanwhile) {
  heap_budget all(heap_limits{}, budget_scope::whole_process);
  std::atomic<int> running{0};
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      ++running;
      heap_budget own(heap_limits{});
      std::uint64_t made = 0;
      for (; !is_over || made < 1000; ++made) delete used_here(new int);
      EXPECT_EQ(own.usage().allocations, made);
    });
  }
  while (running != 4) std::this_thread::yield();
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t before = all.usage().allocations;
    heap_budget brief(heap_limits{}, budget_scope::whole_process);
    EXPECT_TRUE(brief.is_kept());
    EXPECT_GE(all.usage().allocations, before);
  }
  is_over = true;
  for (auto& thread : threads) thread.join();
  EXPECT_GE(all.usage().allocations, 4000U);
  EXPECT_GE(all.usage().releases, 4000U);
}

TEST(HeapBudget, AllowsNoProcessBudgetOpenedInside) {
  heap_budget outer(heap_limits{}, budget_scope::whole_process);
  {
    const heap_allowance logging;
    delete used(new int);
    heap_budget inner(heap_limits{}, budget_scope::whole_process);
    delete used(new int);
    {
      const heap_allowance again;
      delete used(new int);
    }
    delete used(new int);
    EXPECT_EQ(inner.usage().allocations, 2U);
  }
  EXPECT_EQ(outer.usage().allocations, 0U);
  delete used(new int);
  EXPECT_EQ(outer.usage().allocations, 1U);
}

// At the fork another thread is counting. ThreadSanitizer sees nothing in such a child.
#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t seen_in_child = 0;
#else
constexpr std::uint64_t seen_in_child = 10;
#endif
TEST(HeapBudget, AForksChildCounts) {
  heap_budget all(heap_limits{}, budget_scope::whole_process);
  std::atomic<int> step{0};
  std::thread other([&] {
    const heapwright::hook::process_lock lock;
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    const std::uint64_t before = all.usage().allocations;
    for (int k = 0; k < 10; ++k) delete used_here(new int);
    _exit(all.usage().allocations >= before + seen_in_child ? 0 : 1);
  }
  step = 2;
  other.join();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(HeapBudget, InjectsFailures) {
  int failed = 0;
  for (int i = 0; i < 9; ++i) {
    const heapwright::heap_failures every(1 + static_cast<std::uint64_t>(i % 3));
    try {
      for (int k = 0; k < 3; ++k) delete used(new int);
    } catch (const std::bad_alloc&) {
      ++failed;
    }
  }
  EXPECT_EQ(failed, 9);
  delete used(new int);
}

// Every allocation of a piece of code fails once: it must survive each.
TEST(HeapBudget, FindsTheCodeThatSurvivesNoFailure) {
  std::uint64_t point = 1;
  for (bool is_done = false; !is_done; ++point) {
    const heapwright::heap_failures at(point);
    try {
      std::vector<std::string> words;
      for (int i = 0; i < 5; ++i) words.emplace_back("a word longer than the small buffer");
      is_done = true;
    } catch (const std::bad_alloc&) {
    }
    ASSERT_LT(point, 100U);
  }
  EXPECT_GT(point, 5U);
}

// realloc(block, 0) frees the block; it may answer with another, empty one.
TEST(HeapBudget, ReallocToNothingIsARelease) {
  for (const bool fails : {false, true}) {
    void* block = used(std::malloc(100));
    heap_budget counts(heap_limits{});
    {
      const heapwright::heap_failures every(fails ? 1 : 1000);
      block = used(std::realloc(block, 0));
    }
    std::free(block);
    const auto usage = counts.usage();
    EXPECT_EQ(usage.releases, usage.allocations + 1);
    EXPECT_LE(usage.live_bytes, -100);
  }
}

}  // namespace
