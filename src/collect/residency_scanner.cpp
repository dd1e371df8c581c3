// SPDX-License-Identifier: MIT
#include "collect/residency_scanner.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "platform/futex.hpp"

namespace heapwright::collect {
namespace {

using trace::KernelMemory;
using trace::ScanCause;

constexpr std::uint64_t shortest_period_ns = 100'000'000;
// A scan takes this fraction of its period: 2 %; of the pause before a scan that the program requests, 10 %.
constexpr std::uint64_t period_in_scans = 50;
constexpr std::uint64_t pause_in_scans = 10;
// After this many scans the period doubles, so that days of recording stay within the limits of a trace.
constexpr std::uint64_t scans_per_doubling = 1U << 13;
// A window that took longer was interrupted: the time of its pages is unknown.
constexpr std::uint64_t longest_window_ns = 1'000'000;
constexpr int most_repetitions = 2;

std::uint64_t thread_cpu_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::string read_all(int file) {
  std::string text;
  char buffer[32768];
  off_t at = 0;
  for (;;) {
    const ssize_t length = pread(file, buffer, sizeof buffer, at);
    if (length <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(length));
    at += length;
  }
}

KernelMemory kernel_memory_of(const MemoryReading& reading) {
  return {reading.anonymous_bytes, reading.file_bytes, reading.shared_bytes, reading.swapped_bytes,
          reading.page_table_bytes};
}

}  // namespace

ResidencyScanner::ResidencyScanner(const std::string& folder, session::ProcessBlock& block,
                                   const TickClock& clock, bool is_wanted)
    : block_(block),
      clock_(clock),
      pages_(is_wanted ? folder + "/pagemap" : ""),
      mappings_file_(is_wanted ? open((folder + "/maps").c_str(), O_RDONLY | O_CLOEXEC) : -1),
      is_wanted_(pages_.is_open() && mappings_file_ >= 0) {}

ResidencyScanner::~ResidencyScanner() {
  if (mappings_file_ >= 0) close(mappings_file_);
}

ResidencyScanner::Request ResidencyScanner::request() const noexcept {
  const std::uint32_t word = block_.scan_request.load(std::memory_order_seq_cst);
  const std::uint32_t cause = word & session::scan_cause_mask;
  Request result{word / session::scan_request_step, ScanCause::trim};
  if (cause == session::scan_before_exit) result.cause = ScanCause::exit;
  if (cause == session::scan_after_phase) result.cause = ScanCause::phase;
  return result;
}

bool ResidencyScanner::is_asked(const Request& wanted, std::uint64_t now_ns) const noexcept {
  if (wanted.number == served_ || (is_scanning_ && wanted.number == request_number_)) return false;
  return wanted.cause == ScanCause::exit || (!is_scanning_ && now_ns >= next_request_ns_);
}

bool ResidencyScanner::is_asked(std::uint64_t now_ns) const noexcept { return is_asked(request(), now_ns); }

bool ResidencyScanner::note_exit() noexcept {
  const Request wanted = request();
  is_exit_noted_ = wanted.cause == ScanCause::exit && is_asked(wanted, 0);
  return is_exit_noted_;
}

void ResidencyScanner::serve(std::uint32_t number) noexcept {
  served_ = number;
  block_.scans_served.store(number, std::memory_order_seq_cst);
  platform::futex_wake(block_.scans_served);
}

void ResidencyScanner::give_up() noexcept {
  is_scanning_ = false;
  if (request().number != served_) serve(request().number);
}

void ResidencyScanner::begin_if_due(ProcessWatch& watch, TraceFile& file, std::uint64_t events,
                                    std::uint64_t share) {
  const std::uint64_t now_ns = clock_.now_ns();
  const Request wanted = request();
  const bool is_asked_for = is_asked(wanted, now_ns);
  // One that came since note_exit(): the caller has more to do before the program is let go.
  if (is_asked_for && wanted.cause == ScanCause::exit && !is_exit_noted_) return;
  if (!is_wanted_ && is_asked_for) return serve(wanted.number);
  if (!is_wanted_ || (!is_asked_for && (is_scanning_ || now_ns < next_ns_))) return;
  MemoryReading reading;
  if (!watch.read_memory(reading)) return give_up();
  const KernelMemory memory = kernel_memory_of(reading);
  next_ns_ = now_ns + shortest_period_ns;
  share_ = share;
  if (!is_asked_for && events == events_ && last_memory_ == memory) return;
  events_ = events;
  begin(is_asked_for ? wanted : Request{served_, ScanCause::period}, memory, file);
}

void ResidencyScanner::begin(Request request, const KernelMemory& memory, TraceFile& file) {
  const std::uint64_t cpu_ns = thread_cpu_ns();
  begin_ns_ = clock_.now_ns();
  scan_ = {};
  scan_.cause = request.cause;
  scan_.before = memory;
  request_number_ = request.number;
  next_address_ = 0;
  is_scanning_ = true;
  std::string text = read_all(mappings_file_);
  if (text != mappings_text_ || mapping_lists_ == 0) {
    mappings_text_ = std::move(text);
    mappings_ = parse_mappings(mappings_text_);
    file.write_mappings(mapping_lists_++, mappings_);
  }
  scan_.cpu_ns = thread_cpu_ns() - cpu_ns;
}

// False when the process can no longer be read.
bool ResidencyScanner::read_window() {
  trace::ScanWindow window;
  window.begin = next_address_;
  window.first_run = static_cast<std::uint32_t>(scan_.runs.size());
  for (int attempt = 0; attempt <= most_repetitions; ++attempt) {
    scan_.runs.resize(window.first_run);
    window.begin_ns = clock_.now_ns();
    window.end = pages_.read_window(next_address_, mappings_, scan_.runs);
    window.end_ns = clock_.now_ns();
    if (window.end == 0) return false;
    if (window.end_ns - window.begin_ns <= longest_window_ns) break;
  }
  next_address_ = window.end;
  window.run_count = static_cast<std::uint32_t>(scan_.runs.size()) - window.first_run;
  if (window.run_count != 0) scan_.windows.push_back(window);
  return true;
}

void ResidencyScanner::step(ProcessWatch& watch, TraceFile& file) {
  if (!is_scanning_) return;
  const std::uint64_t cpu_ns = thread_cpu_ns();
  if (!read_window()) return give_up();
  scan_.is_whole = scan_.runs.size() + PageMap::window_pages <= trace::max_runs_per_scan &&
                   scan_.windows.size() < trace::max_windows_per_scan;
  scan_.cpu_ns += thread_cpu_ns() - cpu_ns;
  if (next_address_ >= PageMap::end_address || !scan_.is_whole) finish(watch, file);
}

void ResidencyScanner::finish(ProcessWatch& watch, TraceFile& file) {
  is_scanning_ = false;
  MemoryReading reading;
  if (watch.read_memory(reading)) {
    scan_.after = kernel_memory_of(reading);
    // A change during this scan may be missing from it: then the next scan must not be skipped.
    last_memory_.reset();
    if (scan_.before == scan_.after) last_memory_ = scan_.after;
    file.write_scan(mapping_lists_ - 1, begin_ns_, clock_.now_ns(), scan_);
    const std::uint64_t doublings = std::min<std::uint64_t>(++scans_ / scans_per_doubling, 16);
    const std::uint64_t period_ns = std::max(shortest_period_ns, period_in_scans * scan_.cpu_ns);
    next_ns_ = begin_ns_ + (period_ns * share_ << doublings);
    next_request_ns_ = begin_ns_ + (pause_in_scans * scan_.cpu_ns * share_ << doublings);
  }
  if (request_number_ != served_) serve(request_number_);
}

}  // namespace heapwright::collect
