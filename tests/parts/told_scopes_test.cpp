// SPDX-License-Identifier: MIT
// What budgets tell a recorder, which this file plays: in order, with the
// allocations that its thread made so far.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "heapwright/annotate.h"
#include "heapwright/heap_budget.hpp"

namespace {

struct Heard {
  const char* what = "";
  const char* name = "";
  std::uint64_t allocations = 0;
};
constexpr std::size_t most_heard = 64;
Heard heard[most_heard];
std::size_t heard_count = 0;
constinit thread_local bool is_listening = false;  // in the tests of this file

void hear(const char* what, const char* name) noexcept {
  if (!is_listening) return;
  if (heard_count == most_heard) std::abort();
  heard[heard_count++] = {what, name, heapwright::hook::heap_of_thread.allocations};
}

std::vector<std::string> all_heard() {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < heard_count; ++i) lines.push_back(std::string(heard[i].what) + heard[i].name);
  heard_count = 0;
  return lines;
}

}  // namespace

extern "C" {
void heapwright_annotate_phase_begin(const char* name) noexcept { hear("begin ", name); }
void heapwright_annotate_phase_end(const char* name) noexcept { hear("end ", name); }
}

namespace {

using heapwright::budget_scope;
using heapwright::heap_allowance;
using heapwright::heap_budget;

using Lines = std::vector<std::string>;

class ToldScopes : public testing::Test {
 protected:
  ToldScopes() {
    heard_count = 0;
    is_listening = true;
  }
  ~ToldScopes() override { is_listening = false; }
};

TEST_F(ToldScopes, ANamedBudgetIsAPhaseWithinOneOfThePart) {
  {
    const heap_budget budget({.name = "parse"});
    const heap_budget all({.name = "all"}, budget_scope::whole_process);
  }
  EXPECT_EQ(all_heard(), (Lines{"begin heap_budget", "begin parse", "begin heap_allowance",
                                "end heap_allowance", "begin heap_allowance", "end heap_allowance",
                                "begin heap_budget of all threads", "begin all", "end all",
                                "end heap_budget of all threads", "end parse", "end heap_budget"}));
}

TEST_F(ToldScopes, WithoutANameOrABudgetNothingIsTold) {
  {
    const heap_allowance before;
    const heap_budget budget({.allocations = 100});
  }
  EXPECT_EQ(all_heard(), Lines{});
}

TEST_F(ToldScopes, AllThatCountsIsBetweenItsMarks) {
  heap_budget budget({.name = "parse"});
  void* volatile block = std::malloc(10);
  std::free(block);
  budget.close();
  budget.close();  // is told once
  const std::uint64_t counted = budget.usage().allocations;
  ASSERT_EQ(heard_count, 4U);
  EXPECT_EQ(counted, 1U);
  EXPECT_EQ(heard[2].allocations - heard[1].allocations, counted);
}

TEST_F(ToldScopes, AnAllowanceIsToldWithinAScope) {
  heap_budget budget({.name = "parse"});
  heard_count = 0;
  {
    const heap_allowance logging;
    const heap_budget inner({.name = "inner"});
  }
  budget.close();
  const Lines told = all_heard();
  EXPECT_EQ(told.front(), "begin heap_allowance");
  ASSERT_GE(told.size(), 3U);
  EXPECT_EQ((Lines{told.end() - 3, told.end()}),
            (Lines{"end heap_allowance", "end parse", "end heap_budget"}));
}

}  // namespace
