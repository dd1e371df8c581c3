// SPDX-License-Identifier: MIT
#include "figures/report.hpp"

#include <gtest/gtest.h>

namespace heapwright::figures {
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

TEST(Report, WritesWhatJsonCanHold) {
  Report report;
  report.text("name", "a\"b\\c\n");
  report.finish();
  EXPECT_EQ(report.view(), "{\"name\":\"a?b?c?\"}\n");
}

}  // namespace
}  // namespace heapwright::figures
