// SPDX-License-Identifier: MIT
// heapwright-replay plan FILE PLAN: makes the plan of a recording's replay, and says what is in it.
// heapwright-replay run PLAN recorded|dependency|dry [IDLE_MS PACE_PERMILLE]: replays it on the allocator
// that this process was started with; dry is the dependency order without a heap call. Both print one line of
// JSON. Exit codes: 0 done, 1 the allocator failed, 2 bad input, 3 too little memory.
#include <charconv>
#include <cstring>
#include <exception>
#include <string_view>

#include "figures/process_figures.hpp"
#include "figures/refusal.hpp"
#include "figures/report.hpp"
#include "order/source.hpp"
#include "replay/dependency_order.hpp"
#include "replay/make_plan.hpp"
#include "replay/recorded_order.hpp"
#include "trace/reader.hpp"

namespace {

using namespace heapwright;

constexpr int exit_no_memory = 3;
constexpr std::uint64_t most_number = 600'000;

int print(figures::Report& report) {
  report.finish();
  return report.print() ? 0 : 1;
}

void report_plan(const replay::Header& header, figures::Report& report) {
  report.figure("operations", static_cast<double>(header.operations));
  report.figure("lanes", header.lanes);
  report.figure("turns", static_cast<double>(header.turns));
  report.figure("slots", header.slots);
  report.figure("peak_live_bytes", static_cast<double>(header.peak_live_bytes));
  report.figure("before_recording", static_cast<double>(header.before_recording));
  report.figure("failed", static_cast<double>(header.failed));
  report.figure("unseen_releases", static_cast<double>(header.unseen_releases));
  report.figure("large_blocks", static_cast<double>(header.large_blocks));
  report.figure("seen_blocks", static_cast<double>(header.seen_blocks));
  report.figure("damaged_chunks", static_cast<double>(header.damaged_chunks));
}

void report_marks(const char* path, figures::Report& report) {
  const replay::PlanFile plan(path);
  const auto& marks = plan.marks();
  figures::MappedArray<double> times_ns(marks.size());
  figures::MappedArray<double> recorded_bytes(marks.size());
  for (std::size_t i = 0; i < marks.size(); ++i) {
    times_ns[i] = static_cast<double>(marks[i].time_ns);
    recorded_bytes[i] = static_cast<double>(marks[i].recorded_bytes);
  }
  report.series("mark_ns", times_ns.first(times_ns.size()));
  report.series("recorded_bytes", recorded_bytes.first(recorded_bytes.size()));
}

int make_plan(const char* file, const char* path) {
  try {
    const auto reader = trace::Reader::open(file);
    const auto header = replay::make_plan(*order::make_source(reader), path);
    figures::Report report;
    report_plan(header, report);
    report_marks(path, report);
    return print(report);
  } catch (const std::exception& error) {
    figures::refuse("%s", error.what());
  }
}

std::uint64_t number_of(const char* text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  if (error != std::errc{} || *end != '\0' || number > most_number) {
    figures::refuse("%s is not a whole number up to 600000", text);
  }
  return number;
}

// How a replay in recorded order waits.
struct Waits {
  std::uint64_t idle_ns = 0;
  double pace = 0;
};

template <typename Order>
int run(Order& order) {
  order.run();
  figures::Report report;
  order.report(report);
  return print(report);
}

int run_plan(const char* path, std::string_view order_name, const Waits& waits) {
  replay::Stage stage(path);
  const auto needed_bytes = stage.plan().header().peak_live_bytes;
  const auto available_bytes = figures::available_bytes();
  if (available_bytes != 0 && needed_bytes > available_bytes) {
    constexpr double mebi = 1 << 20;
    figures::end(exit_no_memory, "the recorded blocks take %.0f MiB, %.0f MiB are available",
                 static_cast<double>(needed_bytes) / mebi, static_cast<double>(available_bytes) / mebi);
  }
  if (order_name == "recorded") {
    replay::RecordedOrder order(stage, waits.idle_ns, waits.pace);
    return run(order);
  }
  if (order_name == "dependency" || order_name == "dry") {
    replay::DependencyOrder order(stage, order_name == "dry");
    return run(order);
  }
  figures::refuse("the order is recorded, dependency or dry");
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::string_view step = argument_count > 1 ? arguments[1] : "";
  if (step == "plan" && argument_count == 4) return make_plan(arguments[2], arguments[3]);
  if (step == "run" && argument_count == 4) return run_plan(arguments[2], arguments[3], {});
  if (step == "run" && argument_count == 6) {
    const Waits waits{number_of(arguments[4]) * 1'000'000,
                      static_cast<double>(number_of(arguments[5])) / 1000};
    return run_plan(arguments[2], arguments[3], waits);
  }
  figures::refuse(
      "usage: heapwright-replay plan FILE PLAN | run PLAN recorded|dependency|dry [IDLE_MS PACE_PERMILLE]");
}
