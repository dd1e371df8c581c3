// SPDX-License-Identifier: MIT
// Scans which pages of a process are resident, one window at a time, so that the collector can drain the
// lanes in between and the program's own mmap calls and page faults wait for at most one window.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/page_map.hpp"
#include "collect/process_watch.hpp"
#include "collect/tick_clock.hpp"
#include "collect/trace_file.hpp"
#include "session/layout.hpp"
#include "trace/residency.hpp"

namespace heapwright::collect {

class ResidencyScanner {
 public:
  // Opens the process's files. If that is not permitted, or not `is_wanted`, the scanner never does anything.
  ResidencyScanner(const std::string& folder, session::ProcessBlock& block, const TickClock& clock,
                   bool is_wanted);
  ~ResidencyScanner();
  ResidencyScanner(const ResidencyScanner&) = delete;
  ResidencyScanner& operator=(const ResidencyScanner&) = delete;

  bool is_scanning() const noexcept { return is_scanning_; }
  // The program waits to exit, and its last scan has not begun: begin_if_due() begins it only if this said so
  // before, and with it the program is let go.
  bool note_exit() noexcept;
  // The program waits, or has requested a scan that may begin now.
  bool is_asked(std::uint64_t now_ns) const noexcept;
  // The program waits for the current scan.
  bool is_urgent() const noexcept { return is_scanning_ && scan_.cause == trace::ScanCause::exit; }

  // Begins a scan when one is due. `events`: number of events so far; without new ones and with unchanged
  // memory, a scan is skipped. `share`: how many processes share the time allowed for scans.
  void begin_if_due(ProcessWatch& watch, TraceFile& file, std::uint64_t events, std::uint64_t share);
  // Scans one window; the last window writes the scan.
  void step(ProcessWatch& watch, TraceFile& file);
  // Releases a waiting program.
  void give_up() noexcept;

 private:
  struct Request {
    std::uint32_t number = 0;
    trace::ScanCause cause = trace::ScanCause::period;
  };
  Request request() const noexcept;
  bool is_asked(const Request& wanted, std::uint64_t now_ns) const noexcept;
  void begin(Request request, const trace::KernelMemory& memory, TraceFile& file);
  bool read_window();
  void finish(ProcessWatch& watch, TraceFile& file);
  void serve(std::uint32_t number) noexcept;

  session::ProcessBlock& block_;
  const TickClock& clock_;
  PageMap pages_;
  int mappings_file_ = -1;
  bool is_wanted_;
  bool is_scanning_ = false;
  bool is_exit_noted_ = false;
  trace::ResidencyScan scan_;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t next_address_ = 0;
  std::uint32_t request_number_ = 0;  // that the current scan serves
  std::uint32_t served_ = 0;
  std::string mappings_text_;  // of the last list written
  std::vector<trace::Mapping> mappings_;
  std::uint32_t mapping_lists_ = 0;
  std::uint64_t scans_ = 0;
  std::uint64_t share_ = 1;
  std::uint64_t events_ = 0;                        // at the last scan
  std::optional<trace::KernelMemory> last_memory_;  // of the last scan, if it stayed the same throughout
  std::uint64_t next_ns_ = 0;                       // when the next one is due
  std::uint64_t next_request_ns_ = 0;               // and when one may begin because the program asks for it
};

}  // namespace heapwright::collect
