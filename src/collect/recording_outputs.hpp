// SPDX-License-Identifier: MIT
// What every recording is written to and reported by, whoever started the program; and what it needs of the
// system. UsageError: something cannot be had, before the program starts or is touched.
#pragma once

#include <sys/resource.h>

#include <string>

#include "collect/options.hpp"
#include "collect/output_names.hpp"
#include "collect/report.hpp"

namespace heapwright::collect {

std::string host_name();
// A file's path, from this program's folder on.
std::string beside_this_program(const std::string& path);

void check_control_file(const Options& options);
// -1: none is wanted.
int open_summary(const Options& options);
// A descriptor when the first path is a stream; -1 when it is a file that can be written.
int open_output(const OutputNames& names, const std::string& first_path);
// stream: -1 where it is a file.
void check_stream(const Options& options, OutputNames& names, int stream);

using Limit = decltype(RLIMIT_NOFILE);
// What it was.
rlimit raise_limit(Limit which);

// For people on standard error, and as JSON wherever that is wanted; closes the summary.
void tell(const Options& options, const Report& report, int summary_file);

}  // namespace heapwright::collect
