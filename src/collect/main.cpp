// SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "collect/count_program.hpp"
#include "collect/messages.hpp"
#include "collect/options.hpp"
#include "collect/record_process.hpp"
#include "collect/record_program.hpp"
#include "collect/snapshot_request.hpp"

int main(int count, char** values) {
  constexpr int not_started_code = 2;
  using namespace heapwright;
  try {
    const collect::Options options =
        collect::parse_options(std::vector<std::string>(values + (count > 0 ? 1 : 0), values + count));
    if (options.show_help) return std::fputs(collect::help_text, stdout) < 0 ? 1 : 0;
    if (options.show_version) return std::puts("heapwright-collect " HEAPWRIGHT_VERSION) < 0 ? 1 : 0;
    if (options.snapshot_of != 0) return collect::report_snapshot(options.snapshot_of);
    if (options.asks_inside) return collect::report_inside(options);
    if (options.count_for != 0) return collect::count_program(options);
    return options.process != 0 ? collect::record_process(options) : collect::record_program(options);
  } catch (const std::exception& error) {
    collect::say_error(error.what());
    return not_started_code;
  }
}
