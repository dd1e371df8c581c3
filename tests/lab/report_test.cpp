// SPDX-License-Identifier: MIT
#include "lab/report.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace heapwright::lab {
namespace {

TEST(Report, IsOneLineOfJson) {
  Report report;
  report.figure("calls", 3);
  report.figure("ratio", 0.25);
  report.text("from", "/lib/x.so");
  const double values[] = {1, 2.5};
  report.series("over_time", values);
  report.finish();
  EXPECT_EQ(report.view(), "{\"calls\":3,\"ratio\":0.25,\"from\":\"/lib/x.so\",\"over_time\":[1,2.5]}\n");
}

TEST(Report, WritesWhatJsonKnows) {
  Report report;
  report.figure("never", std::numeric_limits<double>::infinity());
  report.text("name", "a\"b\\c\n");
  report.finish();
  EXPECT_EQ(report.view(), "{\"never\":null,\"name\":\"a?b?c?\"}\n");
}

}  // namespace
}  // namespace heapwright::lab
