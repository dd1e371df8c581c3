// SPDX-License-Identifier: MIT
// Outputs and reports of a recording, whether the program was started or attached to, and its system limits.
// Throws UsageError before the program is started or touched.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>

#include "collect/kernel_events.hpp"
#include "collect/messages.hpp"
#include "collect/options.hpp"
#include "collect/output_names.hpp"
#include "collect/report.hpp"

namespace heapwright::collect {

std::string host_name();
// A path relative to this program's folder.
std::string beside_this_program(const std::string& path);

void check_control_file(const Options& options);
// -1: none is requested.
int open_summary(const Options& options);
// A descriptor if the first path is a stream; -1 if it is a writable file.
int open_output(const OutputNames& names, const std::string& first_path);
// stream: -1 for a file.
void check_stream(const Options& options, OutputNames& names, int stream);

using Limit = decltype(RLIMIT_NOFILE);
// Returns the old limit.
rlimit raise_limit(Limit which);

// As wished; says why if it is refused. The kernel's records are used only for timed calls.
void open_kernel_events(const Options& options, pid_t program, const Messages& messages,
                        KernelEvents& kernel_events);
void report_losses(const KernelEvents& kernel_events, const Messages& messages);

// Text on standard error, JSON where requested; closes the summary.
void publish_report(const Options& options, const Report& report, int summary_file);

// Adds the facts about processes without a trace.
void add_processes(Report& report, const StartedProcesses& started, const session::Control& control);
// The session file's path; "" when none is wanted or it cannot be written.
std::string write_session(const Options& options, const Report& report, const std::string& first_path);

}  // namespace heapwright::collect
