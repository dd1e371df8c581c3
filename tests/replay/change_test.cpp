// SPDX-License-Identifier: MIT
#include "replay/change.hpp"

#include <gtest/gtest.h>

#include <string>

#include "trace/damage.hpp"

namespace heapwright::replay {
namespace {

std::string refusal_of(const char* text) {
  try {
    changes_of(text);
  } catch (const trace::TraceError& error) {
    return error.what();
  }
  return "";
}

TEST(Changes, AreReadFromOneWord) {
  const auto request = changes_of("arena:phase=a load+small_vector:64+reserve+deferred_free");
  const auto& parts = request.parts;
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].change, Change::arena);
  EXPECT_EQ(parts[1].change, Change::small_vector);
  EXPECT_EQ(parts[1].number, 64u);
  EXPECT_EQ(parts[2].change, Change::reserve);
  EXPECT_EQ(parts[3].change, Change::deferred_free);
  EXPECT_EQ(parts[3].number, usual_wait_ms);
  EXPECT_EQ(request.phases, (std::vector<std::string>{"a load", "", "", ""}));
  EXPECT_TRUE(request.has_phases() && request.defers_frees());
  EXPECT_EQ(changes_of("deferred_free:250").parts[0].number, 250u);
  EXPECT_FALSE(changes_of("arena+exit_policy").has_phases());
  EXPECT_FALSE(changes_of("arena+exit_policy").defers_frees());
  EXPECT_EQ(changes_of("arena+trim:500").parts[1].number, 500u);
  EXPECT_EQ(changes_of("arena+trim:500").trim(), 1u);
  EXPECT_EQ(changes_of("arena").trim(), 1u) << "none";
  for (const char* wrong : {"trim", "trim:", "trim:0", "trim:3600001", "trim:1.5"}) {
    EXPECT_NE(refusal_of(wrong).find("milliseconds between two calls of malloc_trim"), std::string::npos)
        << wrong;
  }
  EXPECT_NE(refusal_of("trim:5+trim:6").find("one trim"), std::string::npos);
  EXPECT_NE(refusal_of("arenas").find("no change arenas; there are: arena, node_pool"), std::string::npos);
  EXPECT_NE(refusal_of("").find("there are"), std::string::npos);
  EXPECT_NE(refusal_of("reserve:8").find("reserve takes nothing after a colon"), std::string::npos);
  for (const char* wrong : {"arena:8", "arena:", "arena:phase="}) {
    EXPECT_NE(refusal_of(wrong).find("as arena:phase=load"), std::string::npos) << wrong;
  }
  for (const char* wrong : {"deferred_free:", "deferred_free:0", "deferred_free:60001"}) {
    EXPECT_NE(refusal_of(wrong).find("milliseconds that a block waits, 1 to 60000"), std::string::npos)
        << wrong;
  }
  const auto usual = changes_of("buffer_cache").parts[0].cache;
  EXPECT_EQ(usual.total_bytes, 1u << 20U);
  EXPECT_EQ(usual.buffers, 256u);
  EXPECT_EQ(usual.policy, cached_buffers::Policy::learnt_cutoff);
  const auto several = changes_of("reserve+buffer_cache:buffers=64,total_bytes=4M,policy=fixed_cutoff_4096");
  const auto cache = several.parts[1].cache;
  EXPECT_EQ(cache.total_bytes, 4u << 20U);
  EXPECT_EQ(cache.buffers, 64u);
  EXPECT_EQ(cache.policy, cached_buffers::Policy::fixed_cutoff_4096);
  EXPECT_EQ(changes_of("buffer_cache:total_bytes=500").parts[0].cache.total_bytes, 500u);
  EXPECT_EQ(changes_of("buffer_cache:total_bytes=2k").parts[0].cache.total_bytes, 2048u);
  for (const char* wrong : {"", "64", "buffers", "buffers=0", "buffers=70000", "total_bytes=2000G",
                            "total_bytes=M", "policy=lru", "buffers=2,", "max_bytes=4M"}) {
    EXPECT_NE(refusal_of(("buffer_cache:" + std::string(wrong)).c_str()).find("policy=NAME of learnt_cutoff"),
              std::string::npos)
        << wrong;
  }
  EXPECT_NE(refusal_of("arena+arena+arena+arena+arena").find("at most 4"), std::string::npos);
  for (const char* wrong : {"small_vector", "small_vector:", "small_vector:0", "small_vector:5000",
                            "small_vector:8x", "small_vector:99999999999"}) {
    EXPECT_NE(refusal_of(wrong).find("1 to 4096"), std::string::npos) << wrong;
  }
}

}  // namespace
}  // namespace heapwright::replay
