// SPDX-License-Identifier: MIT
// compared ROWS: a program before and after a change; AFTER builds the second one. Its functions are
// elsewhere, in a file with another name, one is inlined, one is gone, one is new, and each row asks for one
// block more.
#include <cstdlib>
#include <vector>

#include "say.hpp"

#ifdef AFTER
#define HELPER [[gnu::always_inline]] inline
#line 500 "after/rows_of_shop.cpp"
#else
#define HELPER [[gnu::noinline]]
#line 30 "before/shop.cpp"
#endif

namespace {

HELPER void* fill_header(std::size_t size) { return keep(std::malloc(size)); }

[[gnu::noinline]] void* make_header() {
  void* block = fill_header(48);
  keep(nullptr);
  return block;
}

template <class T>
[[gnu::noinline]] void* make_cell(std::size_t count) {
  return keep(std::malloc(count * sizeof(T)));
}

#ifdef AFTER
[[gnu::noinline]] void* copy_row() { return keep(std::malloc(200)); }
#else
[[gnu::noinline]] void* old_index() { return keep(std::malloc(4096)); }
#endif

[[gnu::noinline]] void serve(long rows) {
  std::vector<void*> blocks;
  blocks.reserve(static_cast<std::size_t>(rows) * 4 + 1);
  for (long row = 0; row < rows; ++row) {
    blocks.push_back(make_header());
    blocks.push_back(make_cell<int>(3));
    blocks.push_back(make_cell<long>(3));
#ifdef AFTER
    std::free(copy_row());
#endif
  }
#ifndef AFTER
  blocks.push_back(old_index());
#endif
  for (void* block : blocks) std::free(block);
}

}  // namespace

int main(int argc, char** argv) {
  serve(argc > 1 ? std::atol(argv[1]) : 1000);
  say("note done 1\n");
  return 0;
}
