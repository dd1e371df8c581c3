// SPDX-License-Identifier: MIT
// The spans of timed loads against a witness that no scheduler delays: the
// CPU time that the process used meanwhile.
#include "lab/work_span.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "lab/experiment.hpp"

namespace heapwright::lab {
namespace {

// All threads on one CPU: whoever waits at a barrier runs when the others are done.
class OneCpu : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(sched_getaffinity(0, sizeof(before_), &before_), 0);
    int cpu = 0;
    while (!CPU_ISSET(static_cast<unsigned>(cpu), &before_)) ++cpu;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(cpu), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  }
  void TearDown() override { sched_setaffinity(0, sizeof(before_), &before_); }

 private:
  cpu_set_t before_{};
};

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

std::string run_unfinished(const Experiment& experiment, std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  const Options options(experiment.parameters, pointers);
  figures::Report report;
  experiment.run(options, report);
  return std::string(report.view());
}

std::vector<double> numbers_after(const std::string& report, const std::string& name) {
  const std::string key = "\"" + name + "\":";
  std::size_t at = report.find(key);
  if (at == std::string::npos) ADD_FAILURE() << name << " is missing in " << report;
  at += key.size();
  std::string text = report.substr(at, report.find_first_of("]\"", at + 1) - at);
  for (char& letter : text) letter = letter == ',' || letter == '[' ? ' ' : letter;
  std::istringstream stream(text);
  std::vector<double> numbers;
  for (double number = 0; stream >> number;) numbers.push_back(number);
  return numbers;
}

// Work of a millisecond: shorter than a slice of the scheduler, so that a clock
// on another thread is read when all is over.
constexpr int tries = 5;

TEST_F(OneCpu, FragmentationsSpansHoldItsWork) {
  for (int i = 0; i < tries; ++i) {
    const double before_s = cpu_seconds();
    const std::string report =
        run_unfinished(fragmentation_experiment, {"--iterations", "80000", "--class-bytes", "65536"});
    const double used_s = cpu_seconds() - before_s;
    const std::vector<double> iterations = numbers_after(report, "iterations");
    const std::vector<double> rates = numbers_after(report, "operations_per_s_by_iterations");
    ASSERT_EQ(iterations.size(), rates.size());
    double claimed_s = 0;
    for (std::size_t point = 0; point < rates.size(); ++point) {
      claimed_s += (iterations[point] - (point == 0 ? 0 : iterations[point - 1])) / rates[point];
    }
    EXPECT_GT(claimed_s, used_s / 6) << report;
  }
}

// Two threads together, then one alone: two thirds of the work are in the span.
TEST_F(OneCpu, ContentionsSpanHoldsItsWork) {
  for (int i = 0; i < tries; ++i) {
    const double before_s = cpu_seconds();
    const std::string report =
        run_unfinished(contention_experiment, {"--iterations", "20000", "--class-bytes", "65536"});
    const double used_s = cpu_seconds() - before_s;
    EXPECT_GT(numbers_after(report, "seconds").at(0), used_s / 4) << report;
  }
}

TEST_F(OneCpu, RemotesSpanHoldsItsWork) {
  for (int i = 0; i < tries; ++i) {
    const double before_s = cpu_seconds();
    const std::string report = run_unfinished(remote_experiment, {"--blocks", "20000"});
    const double used_s = cpu_seconds() - before_s;
    EXPECT_GT(numbers_after(report, "ns_per_block").at(0) * 20000 / 1e9, used_s / 8) << report;
  }
}

TEST(WorkSpan, ReachesFromTheFirstBeginToTheLastEnd) {
  WorkSpan span(2);
  std::uint64_t first_begin_ns = 0;
  std::uint64_t last_end_ns = 0;
  const std::uint64_t outside_begin_ns = figures::now_ns();
  span.run(1, [&] { first_begin_ns = figures::now_ns(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the second begins well after the first
  span.run(0, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    last_end_ns = figures::now_ns();
  });
  const std::uint64_t outside_end_ns = figures::now_ns();
  EXPECT_GE(span.elapsed_ns(), last_end_ns - first_begin_ns);
  EXPECT_LE(span.elapsed_ns(), outside_end_ns - outside_begin_ns);
}

TEST(WorkSpan, OneThreadsLaterWorkReplacesItsEarlier) {
  WorkSpan span(1);
  span.run(0, [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  const std::uint64_t before_ns = figures::now_ns();
  span.run(0, [] {});
  EXPECT_LE(span.elapsed_ns(), figures::now_ns() - before_ns);
}

TEST(ImpossibleFigures, EndTheRunAndAreNamed) {
  const auto report_rate = [](double operations, std::uint64_t elapsed_ns) {
    figures::Report report;
    report.rate("operations_per_s", operations, elapsed_ns, 2);
  };
  EXPECT_EXIT(report_rate(1e6, 0), testing::ExitedWithCode(1), "operations_per_s: 1e\\+06 in 0 ns");
  EXPECT_EXIT(report_rate(1e6, 9), testing::ExitedWithCode(1), "impossible figure");
  EXPECT_EXIT(report_rate(1e6, 999'999), testing::ExitedWithCode(1), "2 threads");
  report_rate(1e6, 1'000'000);  // two nanoseconds an operation and thread
}

TEST(ImpossibleFigures, ANumberThatIsNoneIsRefused) {
  figures::Report report;
  EXPECT_EXIT(report.figure("free_ratio", 0.0 / 0.0), testing::ExitedWithCode(1),
              "impossible figure: free_ratio");
  EXPECT_EXIT(report.figure("resident_bytes", 1.8e19), testing::ExitedWithCode(1),
              "impossible figure: resident_bytes");
}

}  // namespace
}  // namespace heapwright::lab
