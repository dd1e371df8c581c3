// SPDX-License-Identifier: MIT
// What a report says, and readings of the memory for traces.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "figures/report.hpp"
#include "order/memory_trace.hpp"

namespace heapwright::replay {

inline double figure_of(const figures::Report& report, const std::string& name) {
  const std::string text(report.view());
  const auto at = text.find("\"" + name + "\":");
  EXPECT_NE(at, std::string::npos) << name;
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + name.size() + 3, nullptr);
}

inline std::vector<double> series_of(const figures::Report& report, const std::string& name) {
  const std::string text(report.view());
  std::vector<double> values;
  auto at = text.find("\"" + name + "\":[");
  if (at == std::string::npos) return values;
  at += name.size() + 4;
  while (text[at] != ']') {
    char* end = nullptr;
    values.push_back(std::strtod(text.c_str() + at, &end));
    at = static_cast<std::size_t>(end - text.c_str());
    if (text[at] == ',') ++at;
  }
  return values;
}

// resident_bytes: 0: it could not be read.
inline void read_memory_at(order::MemoryTrace& trace, std::uint64_t time_ns,
                           std::uint64_t resident_bytes = 0) {
  trace::MemorySample sample;
  sample.time_ns = time_ns;
  sample.resident_anonymous_bytes = resident_bytes;
  trace.samples.push_back(sample);
}

}  // namespace heapwright::replay
