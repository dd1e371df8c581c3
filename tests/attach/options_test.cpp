// SPDX-License-Identifier: MIT
#include "attach/options.hpp"

#include <gtest/gtest.h>

namespace heapwright::attach {
namespace {

TEST(Options, AProcessAndWhetherItIsForced) {
  EXPECT_EQ(parse_options({"17"}).process, 17);
  EXPECT_FALSE(parse_options({"17"}).is_forced);
  EXPECT_TRUE(parse_options({"--despite-seccomp", "17"}).is_forced);
  EXPECT_TRUE(parse_options({"--record", "--inside", "17"}).is_inside);
  EXPECT_TRUE(parse_options({"--inside", "--held", "17"}).is_held);
  EXPECT_EQ(parse_options({"--keeper", "18", "17"}).keeper, 18);
  EXPECT_TRUE(parse_options({"--record", "--children", "17"}).with_children);
  EXPECT_TRUE(parse_options({"--help"}).show_help);
}

TEST(Options, AnythingElseIsRefused) {
  using Arguments = std::vector<std::string>;
  for (const Arguments& wrong : {Arguments{},
                                 {"0"},
                                 {"-5"},
                                 {"12x"},
                                 {"99999999999"},
                                 {"1", "2"},
                                 {"--wrong"},
                                 {"--record", "--held", "1"},
                                 {"--record", "--keeper", "2", "1"},
                                 {"1", "--keeper"},
                                 {"--children", "1"}}) {
    EXPECT_THROW(parse_options(wrong), UsageError);
  }
}

}  // namespace
}  // namespace heapwright::attach
