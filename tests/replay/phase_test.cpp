// SPDX-License-Identifier: MIT
// Arenas that are reset where their thread ends a phase.
#include <algorithm>
#include <cstring>

#include "replay/changed_plans.hpp"

namespace heapwright::replay {
namespace {

// As the recorder writes it: the saying, and its name in pieces.
void end_phase(order::MemoryTrace& trace, std::uint32_t thread, std::uint64_t time_ns,
               const std::string& name) {
  trace.add(thread, {.kind = trace::EventKind::phase_end, .begin_ns = time_ns});
  for (std::size_t at = 0; at < name.size(); at += 16) {
    char piece[16] = {};
    std::memcpy(piece, name.data() + at, std::min<std::size_t>(16, name.size() - at));
    order::Call call{.kind = trace::EventKind::annotation_text, .begin_ns = time_ns};
    std::memcpy(&call.size, piece, 8);
    std::memcpy(&call.usable, piece + 8, 8);
    trace.add(thread, call);
  }
}

ChangeRequest arena_of(const std::string& phase) {
  auto request = request_of(Change::arena);
  request.phases = {phase};
  return request;
}

std::string refusal_of_phase(order::MemoryTrace& trace, const std::string& phase) {
  try {
    const PlanOf plan(trace, arena_of(phase));
  } catch (const trace::TraceError& error) {
    return error.what();
  }
  return "";
}

class ArenaOfAPhase : public ::testing::TestWithParam<const char*> {};

// Not when it is empty, nor when another phase ends, or another thread's.
TEST_P(ArenaOfAPhase, IsResetWhereItsThreadEndsIt) {
  const std::string name = GetParam();
  auto trace = trace_of_threads(2);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  trace.free(0, 200, 0x1000);
  end_phase(trace, 0, 250, "another");
  trace.malloc(0, 300, 0x1000, 40, chosen);
  end_phase(trace, 1, 350, name);
  trace.free(0, 400, 0x1000);
  end_phase(trace, 0, 500, name);
  trace.malloc(0, 600, 0x1000, 40, chosen);
  trace.free(0, 700, 0x1000);
  end_phase(trace, 0, 800, name);
  end_phase(trace, 0, 900, name);  // with nothing in it
  const PlanOf plan(trace, arena_of(name));
  EXPECT_EQ(kinds_of(plan, 0), (std::vector<unsigned>{serve_make, serve_release, serve_make, serve_release,
                                                      serve_reset, serve_make, serve_release, serve_reset}));
  EXPECT_EQ(plan.header().changed[0].events, 2u);
  EXPECT_EQ(plan.header().changed[0].outlived, 0u);
  run_both(plan);
}

INSTANTIATE_TEST_SUITE_P(Names, ArenaOfAPhase,
                         ::testing::Values("load", "a load of 16 byt", "longer than sixteen bytes"));

TEST(PhaseArena, LeavesTheHeapWhatOutlivesIt) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  trace.malloc(0, 200, 0x2000, 48, chosen);
  trace.realloc(0, 250, 0x2000, 0x5000, 64);
  trace.malloc(0, 300, 0x3000, 56, chosen);
  trace.free(1, 400, 0x1000);
  end_phase(trace, 0, 500, "load");
  trace.free(0, 600, 0x5000);
  trace.free(1, 700, 0x3000);
  const PlanOf plan(trace, arena_of("load"));
  const auto malloc_kind = number_of(trace::EventKind::malloc_);
  const auto realloc_kind = number_of(trace::EventKind::realloc_);
  const auto free_kind = number_of(trace::EventKind::free_);
  EXPECT_EQ(kinds_of(plan, 0), (std::vector<unsigned>{serve_make, malloc_kind, realloc_kind, malloc_kind,
                                                      serve_reset, free_kind}));
  EXPECT_EQ(kinds_of(plan, 1), (std::vector<unsigned>{serve_release, free_kind}));
  const ChangeCounts& counts = plan.header().changed[0];
  EXPECT_EQ(counts.outlived, 2u);
  EXPECT_EQ(counts.blocks, 1u);
  EXPECT_EQ(counts.bytes, 40u);
  run_both(plan);
}

TEST(PhaseArena, ThatNobodyEndsIsRefused) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  EXPECT_NE(refusal_of_phase(trace, "load").find("; no phase ends in the recording"), std::string::npos);
  end_phase(trace, 0, 500, "other load");
  EXPECT_NE(refusal_of_phase(trace, "load").find("ends a phase load; phases that end there: other load"),
            std::string::npos);
}

}  // namespace
}  // namespace heapwright::replay
