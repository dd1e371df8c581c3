// SPDX-License-Identifier: MIT
// With a recorder that understands annotations, played by this file.
#include "heapwright/annotate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {
std::vector<std::string> heard;
}

extern "C" {
void heapwright_annotate_pool_create(const void*, const char* name) noexcept {
  heard.push_back(std::string("pool ") + name);
}
void heapwright_annotate_pool_destroy(const void*) noexcept { heard.emplace_back("pool gone"); }
void heapwright_annotate_pool_allocate(const void*, const void*, size_t bytes) noexcept {
  heard.push_back("block " + std::to_string(bytes));
}
void heapwright_annotate_pool_free(const void*, const void*) noexcept { heard.emplace_back("block gone"); }
void heapwright_annotate_phase_begin(const char* name) noexcept {
  heard.push_back(std::string("begin ") + name);
}
void heapwright_annotate_phase_end(const char* name) noexcept { heard.push_back(std::string("end ") + name); }
void heapwright_annotate_region(const void*, size_t bytes, const char* name) noexcept {
  heard.push_back(std::string("region ") + name + " " + std::to_string(bytes));
}
}

namespace {

TEST(Annotate, ReachesTheRecorder) {
  const int pool = 0;
  {
    const heapwright::annotated_phase loading("loading");
    heapwright_pool_created(&pool, "orders");
    heapwright_pool_allocated(&pool, &heard, 40);
    heapwright_region_named(&heard, 100, "table");
    heapwright_pool_freed(&pool, &heard);
    heapwright_pool_destroyed(&pool);
  }
  EXPECT_EQ(heard, (std::vector<std::string>{"begin loading", "pool orders", "block 40", "region table 100",
                                             "block gone", "pool gone", "end loading"}));
}

}  // namespace
