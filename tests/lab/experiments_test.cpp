// SPDX-License-Identifier: MIT
// Every experiment at a small size: what the load alone decides comes out
// right, and the same for the same seed.
#include <gtest/gtest.h>

#include <charconv>
#include <string>
#include <vector>

#include "lab/experiment.hpp"

namespace heapwright::lab {
namespace {

std::string run(const Experiment& experiment, std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  const Options options(experiment.parameters, pointers);
  figures::Report report;
  experiment.run(options, report);
  report.finish();
  return std::string(report.view());
}

double figure(const std::string& report, const std::string& name) {
  const std::string key = "\"" + name + "\":";
  const std::size_t at = report.find(key);
  double value = -1;
  if (at == std::string::npos) ADD_FAILURE() << name << " is missing in " << report;
  if (at != std::string::npos) {
    std::from_chars(&report[at + key.size()], report.data() + report.size(), value);
  }
  return value;
}

TEST(BufferCache, TheFlawedPolicyWastesAndTheCuresDoNot) {
  const auto used = [](const std::string& policy, const std::string& seed) {
    return figure(run(buffer_cache_experiment, {"--policy", policy, "--seed", seed}), "late_used_percent");
  };
  for (const std::string seed : {"1", "2", "3"}) {
    EXPECT_EQ(used("none", seed), 100);
    EXPECT_LT(used("flawed", seed), 25);
    EXPECT_GT(used("cutoff", seed), 90);
    EXPECT_GT(used("bucketed", seed), 50);
    EXPECT_GT(used("own", seed), 75);
  }
  EXPECT_EQ(used("flawed", "1"), used("flawed", "1"));
}

TEST(BufferCache, ADeeperCacheMakesItWorse) {
  const auto used = [](const std::string& entries) {
    return figure(run(buffer_cache_experiment, {"--entries", entries}), "late_used_percent");
  };
  EXPECT_LT(used("4"), used("1"));
}

// Objects 0 to 99 in each of two rounds, whoever holds them.
TEST(Arena, EachObjectEndsOnce) {
  for (const std::string method :
       {"new", "buffer", "monotonic", "construct", "arena", "arena-fresh", "arena-huge"}) {
    const std::vector<std::string> common = {"--method", method, "--objects", "100",
                                             "--rounds", "2",    "--kind"};
    std::vector<std::string> ending = common;
    ending.push_back("ending");
    EXPECT_EQ(figure(run(arena_experiment, ending), "ended"), 9900) << method;
    std::vector<std::string> plain = common;
    plain.push_back("plain");
    EXPECT_GT(figure(run(arena_experiment, plain), "later_ns"), 0) << method;
  }
}

TEST(Fragmentation, PointsDoubleUpToTheIterations) {
  for (const std::string threads : {"1", "3"}) {
    const std::string report = run(fragmentation_experiment, {"--iterations", "76800", "--threads", threads});
    EXPECT_NE(report.find("\"iterations\":[300,600,1200,2400,4800,9600,19200,38400,76800]"),
              std::string::npos)
        << report;
    EXPECT_GT(figure(report, "overhead_ratio"), -0.5);
    EXPECT_GT(figure(report, "operations_per_s"), 0);
  }
}

TEST(Contention, ReportsWaitsAndScaling) {
  for (const std::string slots : {"own", "shared"}) {
    const std::string report = run(contention_experiment, {"--iterations", "20000", "--slots", slots});
    EXPECT_GE(figure(report, "collisions_per_s"), 0);
    EXPECT_GT(figure(report, "scaling_ratio"), 0);
  }
}

TEST(Latency, EachPartHasItsFigures) {
  EXPECT_GT(figure(run(latency_experiment, {"--blocks", "1000", "--size", "64"}), "mean_ns"), 0);
  EXPECT_GT(figure(run(latency_experiment, {"--part", "one-call", "--blocks", "1000"}), "one_call_ns"), 0);
  const std::string mixed =
      run(latency_experiment, {"--part", "mixed", "--operations", "20000", "--slots", "2000"});
  EXPECT_GE(figure(mixed, "max_ns"), figure(mixed, "p9999_ns"));
  EXPECT_GE(figure(mixed, "p9999_ns"), figure(mixed, "p50_ns"));
}

TEST(Arena, OneBufferIsMeasuredLikeOneByOne) {
  for (const std::string method : {"new", "buffer", "monotonic", "construct", "arena", "arena-huge"}) {
    const std::string report = run(arena_experiment, {"--method", method, "--objects", "1000"});
    EXPECT_GT(figure(report, "later_ns"), 0) << method;
    EXPECT_GT(figure(report, "first_ns"), 0) << method;
  }
}

TEST(Pool, ClearCreepsAndTrimDoesNot) {
  const auto held = [](const std::string& policy) {
    return figure(run(pool_experiment, {"--policy", policy, "--objects", "200", "--steps", "400000"}),
                  "held_bytes");
  };
  const double all_full = 200 * 128 * 32;  // capacity 128 is the doubling that holds 100
  EXPECT_GT(held("clear"), all_full * 0.8);
  EXPECT_LT(held("trim"), all_full / 10);
  EXPECT_LT(held("release"), held("trim"));
  EXPECT_LT(held("object_pool"), all_full / 5);
  EXPECT_EQ(held("clear"), held("clear"));
}

TEST(FreeCost, RepeatsSmallCounts) {
  const std::string report = run(free_cost_experiment, {"--blocks", "100", "--least-operations", "1000"});
  EXPECT_NEAR(figure(report, "total_ns"), figure(report, "allocate_ns") + figure(report, "free_ns"), 0.01);
  EXPECT_GT(figure(report, "free_ratio"), 0);
}

TEST(SmallVector, CountsWhatStdVectorRequests) {
  const std::string report = run(small_vector_experiment, {"--vectors", "100000", "--rounds", "2"});
  // 49 % one element (one call of 8 bytes); 1 % two to eight, each doubling a call.
  EXPECT_NEAR(figure(report, "calls_per_vector"), 0.525, 0.01);
  EXPECT_NEAR(figure(report, "requested_per_vector"), 4.8, 0.2);
  EXPECT_EQ(figure(report, "own_bytes"), 24);
  const std::string small =
      run(small_vector_experiment, {"--container", "small", "--vectors", "100000", "--rounds", "2"});
  EXPECT_NEAR(figure(small, "calls_per_vector"), 0.01 * 2, 0.01);
  EXPECT_LE(figure(small, "own_bytes"), 24);
  const std::string stack = run(small_vector_experiment, {"--container", "stack", "--vectors", "100"});
  EXPECT_EQ(figure(stack, "calls_per_vector"), 0);
  const std::string local = run(small_vector_experiment, {"--container", "local", "--vectors", "100"});
  EXPECT_EQ(figure(local, "calls_per_vector"), 7);
}

TEST(Overhead, CountsBlocksAndRefusesNothing) {
  const std::string report = run(overhead_experiment, {"--size", "1000", "--total", "20000000"});
  EXPECT_EQ(figure(report, "blocks"), 20'000);
  EXPECT_GT(figure(report, "ns_per_block"), 0);
  // Blocks that an earlier test freed may serve here, hence no lower bound.
  EXPECT_LT(figure(report, "overhead_bytes"), 500);
}

TEST(Shared, MakeSharedAsksOnce) {
  const auto calls = [](const std::string& method) {
    return figure(run(shared_experiment, {"--method", method, "--objects", "100"}), "calls_per_object");
  };
  EXPECT_EQ(calls("new"), 2);
  EXPECT_EQ(calls("make"), 1);
  EXPECT_EQ(calls("private"), 1);
  EXPECT_EQ(calls("own"), 1);
  const std::string report = run(shared_experiment, {"--method", "new", "--objects", "100"});
  EXPECT_EQ(figure(report, "requested_per_object"), 40 + 24);
}

TEST(Remote, EveryBlockArrives) {
  // It returns only when as many blocks were freed as were sent.
  EXPECT_GT(figure(run(remote_experiment, {"--blocks", "20000"}), "blocks_per_s"), 0);
  const std::vector<std::string> all{"--blocks", "20000", "--pattern", "all", "--threads", "3"};
  EXPECT_GT(figure(run(remote_experiment, all), "blocks_per_s"), 0);
}

TEST(Retain, LiveBytesDependOnTheSeedAlone) {
  const auto report = [](const std::string& seed) {
    return run(retain_experiment, {"--total", "5000000", "--idle-ms", "1", "--seed", seed});
  };
  EXPECT_EQ(figure(report("1"), "live_bytes"), figure(report("1"), "live_bytes"));
  EXPECT_NE(figure(report("1"), "live_bytes"), figure(report("2"), "live_bytes"));
  EXPECT_NEAR(figure(report("1"), "live_bytes"), 500'000, 200'000);
  EXPECT_GE(figure(report("1"), "floor_ratio"), 1);
}

TEST(Realloc, CountsTheCallsOfAStepPattern) {
  const std::string report =
      run(realloc_experiment, {"--pattern", "steps", "--final", "1048576", "--rounds", "3"});
  EXPECT_EQ(figure(report, "calls"), 3 * 256);
  EXPECT_GE(figure(report, "in_place_ratio"), 0);
  EXPECT_LE(figure(report, "in_place_ratio"), 1);
}

TEST(ExperimentsDeathTest, ImpossibleParametersAreRefused) {
  const auto exits = testing::ExitedWithCode(2);
  EXPECT_EXIT(run(overhead_experiment, {"--size", "0"}), exits, "--size 0 is too small");
  EXPECT_EXIT(run(fragmentation_experiment, {"--threads", "0"}), exits, "--threads takes 1 to");
  EXPECT_EXIT(run(contention_experiment, {"--threads", "65"}), exits, "--threads takes 1 to");
  EXPECT_EXIT(run(remote_experiment, {"--pattern", "all", "--threads", "1"}), exits, "--threads takes 2 to");
  EXPECT_EXIT(run(retain_experiment, {"--freed-percent", "100"}), exits, "takes 0 to 99");
  EXPECT_EXIT(run(arena_experiment, {"--rounds", "1"}), exits, "takes 2 or more");
}

}  // namespace
}  // namespace heapwright::lab
