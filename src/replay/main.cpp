// SPDX-License-Identifier: MIT
// length: one small function for each step of the program
// Plans and replays a recording. Each step prints one line of JSON:
//
//   heapwright-replay plan FILE PLAN CALLS [CHANGE[+CHANGE…] STACKS]
//     makes the plan for replaying a recording and prints what it contains; of a longer recording only a
//     window of about CALLS calls, 0: all of them. The first CHANGE (change.hpp) applies to blocks of the
//     call stacks for which the file STACKS has a byte of 1, and so on.
//   heapwright-replay plan-gaps …
//     the same, with the times at which operations are due.
//   heapwright-replay needed PLAN
//     the memory needed at the marks: the touched bytes of live blocks, and the program's own mappings.
//   heapwright-replay run PLAN recorded|checked|dependency|dry [IDLE_MS PACE_PERMILLE]
//     replays it on the allocator that this process was started with; checked: recorded order, and each block
//     is checked; dry: dependency order without heap calls.
//   heapwright-replay run PLAN held MARK PACE_PERMILLE
//     in recorded order up to this mark: the call stacks that then hold the memory.
//   heapwright-replay run PLAN timed TIMES
//     in dependency order; each operation's least time is kept in the file TIMES.
//   heapwright-replay run PLAN gaps RATE_PERMILLE
//     in dependency order, each operation when it is due: with the program's gaps, at this multiple of its
//     speed.
//   heapwright-replay times PLAN TIMES SITES
//     sums of these times; SITES: the site of each call stack, four bytes each.
//
// Exit codes: 0 done, 1 the allocator failed, 2 bad input, 3 too little memory.
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "figures/process_figures.hpp"
#include "figures/refusal.hpp"
#include "figures/report.hpp"
#include "order/source.hpp"
#include "replay/dependency_order.hpp"
#include "replay/held_memory.hpp"
#include "replay/make_plan.hpp"
#include "replay/needed_memory.hpp"
#include "replay/recorded_order.hpp"
#include "replay/time_sums.hpp"
#include "trace/reader.hpp"

namespace {

using namespace heapwright;

constexpr int exit_no_memory = 3;
constexpr std::uint64_t most_number = 1'000'000'000;

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
  if (header.marks != 0) {
    report.figure("guessed_touched_bytes", static_cast<double>(header.guessed_touched_bytes));
    report.figure("guessed_untouched_bytes", static_cast<double>(header.guessed_untouched_bytes));
    report.figure("small_bytes", static_cast<double>(header.small_bytes));
  }
  if (header.has_times != 0) report.figure("program_ns", static_cast<double>(header.program_ns));
  report.figure("begin_ns", static_cast<double>(header.begin_ns));
  report.figure("end_ns", static_cast<double>(header.end_ns));
  report.figure("earlier_blocks", static_cast<double>(header.earlier_blocks));
  report.figure("earlier_bytes", static_cast<double>(header.earlier_bytes));
  report.figure("damaged_chunks", static_cast<double>(header.damaged_chunks));
}

// One figure for each part.
void report_changes(const replay::Header& header, figures::Report& report) {
  using Counts = replay::ChangeCounts;
  constexpr std::pair<const char*, std::uint64_t Counts::*> fields[] = {
      {"changed_blocks", &Counts::blocks},
      {"changed_bytes", &Counts::bytes},
      {"change_events", &Counts::events},
      {"freed_by_others", &Counts::freed_by_others},
      {"moved_by_others", &Counts::moved_by_others},
      {"foreign_moves", &Counts::foreign_moves},
      {"never_freed", &Counts::never_freed},
      {"outlived", &Counts::outlived},
      {"most_waiting_bytes", &Counts::most_waiting_bytes},
      {"freed_by_caller", &Counts::freed_by_caller}};
  figures::MappedArray<double> values(header.part_count);
  for (const auto& [name, field] : fields) {
    for (std::size_t part = 0; part < values.size(); ++part) {
      values[part] = static_cast<double>(header.changed[part].*field);
    }
    report.series(name, values.first(values.size()));
  }
}

replay::ChangeRequest request_of(const char* parts, const char* stacks) {
  replay::ChangeRequest request;
  try {
    request = replay::changes_of(parts);
  } catch (const std::exception& error) {
    figures::refuse("%s", error.what());
  }
  std::ifstream file(stacks, std::ios::binary);
  request.part_of_stack.assign(std::istreambuf_iterator<char>(file), {});
  if (request.part_of_stack.empty()) figures::refuse("cannot read %s, or it is empty", stacks);
  const auto most = *std::max_element(request.part_of_stack.begin(), request.part_of_stack.end());
  if (most > request.parts.size()) figures::refuse("%s names a change that was not given", stacks);
  return request;
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

int make_plan(const char* file, const char* path, std::uint64_t calls, const replay::ChangeRequest& change,
              bool has_times) {
  try {
    const auto reader = trace::Reader::open(file);
    const auto header = replay::make_plan(*order::make_source(reader), path, change, calls, has_times);
    figures::Report report;
    report_plan(header, report);
    if (header.part_count != 0) report_changes(header, report);
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
    figures::refuse("%s is not a whole number up to 1000000000", text);
  }
  return number;
}

int say_needed(const char* path) {
  const replay::PlanFile plan(path);
  const auto needed = replay::needed_memory(plan);
  figures::MappedArray<double> bytes(needed.mark_bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<double>(needed.mark_bytes[i] + plan.marks()[i].mapped_bytes);
  }
  figures::Report report;
  report.series("needed_bytes", bytes.first(bytes.size()));
  return print(report);
}

// The waits of a replay in recorded order.
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

void check_memory(const replay::Stage& stage) {
  const auto available_bytes = figures::available_bytes();
  if (available_bytes == 0 || stage.plan().header().peak_live_bytes <= available_bytes) return;
  const auto needed_bytes = replay::needed_memory(stage.plan()).peak_bytes;
  if (needed_bytes > available_bytes) {
    constexpr double mebi = 1 << 20;
    const auto unseen = stage.plan().header().large_blocks - stage.plan().header().seen_blocks;
    figures::end(
        exit_no_memory,
        "the recorded blocks take %.0f MiB, %.0f MiB are available; replay it on a machine with more%s",
        static_cast<double>(needed_bytes) / mebi, static_cast<double>(available_bytes) / mebi,
        unseen == 0 ? "" : " (blocks that no scan of resident pages saw count as touched whole)");
  }
}

int run_timed(const char* path, const char* times_path) {
  replay::Stage stage(path);
  check_memory(stage);
  replay::OperationTimes times(times_path, stage.plan());
  replay::DependencyOrder order(stage, false, &times);
  return run(order);
}

int run_with_gaps(const char* path, std::uint64_t rate_permille) {
  if (rate_permille == 0) figures::refuse("the rate must be 1 permille or more");
  replay::Stage stage(path);
  check_memory(stage);
  replay::DueTimes due(stage.plan(), static_cast<double>(rate_permille) / 1000);
  replay::DependencyOrder order(stage, false, nullptr, &due);
  return run(order);
}

int print(const std::string& json) {
  return std::fwrite(json.data(), 1, json.size(), stdout) == json.size() && std::fflush(stdout) == 0 ? 0 : 1;
}

std::vector<std::uint32_t> sites_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file || bytes.size() % sizeof(std::uint32_t) != 0) figures::refuse("cannot read the sites %s", path);
  std::vector<std::uint32_t> sites(bytes.size() / sizeof(std::uint32_t));
  if (!sites.empty()) std::memcpy(sites.data(), bytes.data(), bytes.size());
  return sites;
}

int sum_times(const char* path, const char* times_path, const char* sites_path) {
  const replay::PlanFile plan(path);
  replay::OperationTimes times(times_path, plan);
  return print(replay::TimeSums(plan, times, sites_of(sites_path)).json());
}

// The other threads wait forever: they cannot be resumed.
[[noreturn]] void print_held(replay::Stage& stage, std::uint64_t resident_bytes) {
  _exit(print(replay::HeldMemory(stage).json(resident_bytes)));
}

int run_held(const char* path, std::uint64_t mark, double pace) {
  replay::Stage stage(path);
  check_memory(stage);
  if (mark >= stage.plan().marks().size()) {
    figures::refuse("the plan has no mark %s", std::to_string(mark).c_str());
  }
  replay::RecordedOrder order(stage, 0, pace);
  order.at_mark(static_cast<std::uint32_t>(mark), print_held);
  order.run();
  figures::refuse("the plan is damaged; make it again");
}

int run_plan(const char* path, std::string_view order_name, const Waits& waits) {
  replay::Stage stage(path);
  check_memory(stage);
  if (order_name == "recorded" || order_name == "checked") {
    replay::RecordedOrder order(stage, waits.idle_ns, waits.pace);
    if (order_name == "checked") order.check_blocks();
    return run(order);
  }
  if (order_name == "dependency" || order_name == "dry") {
    replay::DependencyOrder order(stage, order_name == "dry");
    return run(order);
  }
  figures::refuse("the order must be recorded, checked, dependency or dry");
}

// The parent process reads the output. One that ended before prctl() sends no signal, but it has closed its
// end of the pipe by then.
void end_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd output{STDOUT_FILENO, 0, 0};
  if (poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) _exit(1);
}

}  // namespace

int main(int argument_count, char** arguments) {
  end_with_parent();
  // A file that grows too large is reported as an error.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::string_view step = argument_count > 1 ? arguments[1] : "";
  const bool is_changed = argument_count == 7;
  const bool has_times = step == "plan-gaps";
  if ((step == "plan" || has_times) && (argument_count == 5 || is_changed)) {
    const auto request = is_changed ? request_of(arguments[5], arguments[6]) : replay::ChangeRequest{};
    return make_plan(arguments[2], arguments[3], number_of(arguments[4]), request, has_times);
  }
  if (step == "needed" && argument_count == 3) return say_needed(arguments[2]);
  const std::string_view order = step == "run" && argument_count == 5 ? arguments[3] : "";
  if (order == "timed") return run_timed(arguments[2], arguments[4]);
  if (order == "gaps") return run_with_gaps(arguments[2], number_of(arguments[4]));
  if (step == "times" && argument_count == 5) return sum_times(arguments[2], arguments[3], arguments[4]);
  if (step == "run" && argument_count == 4) return run_plan(arguments[2], arguments[3], {});
  if (step == "run" && argument_count == 6) {
    const auto pace = static_cast<double>(number_of(arguments[5])) / 1000;
    if (std::string_view(arguments[3]) == "held") {
      return run_held(arguments[2], number_of(arguments[4]), pace);
    }
    const Waits waits{number_of(arguments[4]) * 1'000'000, pace};
    return run_plan(arguments[2], arguments[3], waits);
  }
  figures::refuse(
      "usage: heapwright-replay plan|plan-gaps FILE PLAN CALLS [CHANGE[+CHANGE] STACKS] | needed PLAN | run "
      "PLAN recorded|checked|dependency|dry [IDLE_MS PACE_PERMILLE] | run PLAN held MARK PACE_PERMILLE | run "
      "PLAN "
      "timed TIMES | run PLAN gaps RATE_PERMILLE | times PLAN TIMES SITES");
}
