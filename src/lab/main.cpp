// SPDX-License-Identifier: MIT
// heapwright-lab NAME --parameter value …: one run of one experiment on the
// allocator this process was started with, as one line of JSON.
// heapwright-lab identify: which allocator that is.
// Exit codes: 0 done, 2 bad input, 3 too little memory, 4 not permitted to pin.
#include <sched.h>
#include <sys/personality.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include "figures/process_figures.hpp"
#include "lab/experiment.hpp"
#include "lab/identify.hpp"
#include "lab/replay_sizes.hpp"

namespace {

using namespace heapwright::lab;
namespace figures = heapwright::figures;

constexpr int exit_no_memory = 3;
constexpr int exit_not_pinned = 4;

const Experiment* const experiments[] = {
    &buffer_cache_experiment, &fragmentation_experiment, &contention_experiment, &latency_experiment,
    &arena_experiment,        &pool_experiment,          &free_cost_experiment,  &small_vector_experiment,
    &overhead_experiment,     &shared_experiment,        &remote_experiment,     &retain_experiment,
    &realloc_experiment};

// Writes one line to standard error, without a stdio buffer.
void say(const char* line, int length) {
  if (length > 0 && write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0) _exit(1);
}

// Makes addresses repeat from run to run, if the system permits it.
void fix_addresses(char** arguments) {
  const int current = personality(0xffffffff);
  if (current == -1 || (current & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality(static_cast<unsigned long>(current) | ADDR_NO_RANDOMIZE) == -1) return;
  // A sandbox may accept the call and ignore it: never exec twice.
  if ((personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0) return;
  execv("/proc/self/exe", arguments);
}

void pin(int cpu) {
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(cpu), &set);
  if (sched_setaffinity(0, sizeof(set), &set) == 0) return;
  char line[128];
  say(line, std::snprintf(line, sizeof(line), "cannot pin to CPU %d: %s\n", cpu, std::strerror(errno)));
  _exit(exit_not_pinned);
}

void require_memory(std::uint64_t needed_bytes) {
  const std::uint64_t available = figures::available_bytes();
  if (available == 0 || needed_bytes <= available) return;
  constexpr double mebi = 1 << 20;
  const double fitting = 0.9 * static_cast<double>(available) / static_cast<double>(needed_bytes);
  char line[192];
  say(line,
      std::snprintf(
          line, sizeof(line),
          "needs about %.0f MiB of memory, %.0f MiB are available; --scale %.2g of this size would fit\n",
          static_cast<double>(needed_bytes) / mebi, static_cast<double>(available) / mebi, fitting));
  _exit(exit_no_memory);
}

int run(const Experiment& experiment, std::span<char* const> arguments) {
  const Options options(experiment.parameters, arguments);
  pin(options.pin_cpu());
  require_memory(experiment.needed_bytes(options));
  figures::Report report;
  experiment.run(options, report);
  report.figure("peak_resident_bytes", static_cast<double>(figures::peak_resident_bytes()));
  report.finish();
  return report.print() ? 0 : 1;
}

}  // namespace

int main(int argument_count, char** arguments) {
  fix_addresses(arguments);
  const std::string_view name = argument_count > 1 ? arguments[1] : "";
  if (name == "identify") {
    figures::Report report;
    identify(report);
    report.finish();
    return report.print() ? 0 : 1;
  }
  if (name == "replay-sizes") return replay_sizes(stdin);
  for (const Experiment* experiment : experiments) {
    if (name != experiment->name) continue;
    return run(*experiment, {arguments + 2, static_cast<std::size_t>(argument_count - 2)});
  }
  figures::refuse("usage: heapwright-lab NAME [--parameter value]...; names are in `heapwright lab --list`");
}
