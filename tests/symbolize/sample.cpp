// SPDX-License-Identifier: MIT
// Line numbers matter: symbolize_test.cpp checks them.
#include <cstdlib>

namespace sample {

inline __attribute__((always_inline)) void* inner(std::size_t size) {
  return std::malloc(size);  // line 8
}

inline __attribute__((always_inline)) void* middle(std::size_t size) {
  return inner(size + 1);  // line 12
}

__attribute__((noinline)) void* outer(std::size_t size) {
  void* block = middle(size);  // line 16
  *static_cast<volatile char*>(block) = 1;
  return block;
}

}  // namespace sample

extern "C" void* sample_entry(std::size_t size) {
  void* block = sample::outer(size);  // line 24
  *static_cast<volatile char*>(block) = 2;
  return block;
}

namespace sample {

template <typename Value>
struct Table {
  Value* values = nullptr;
};

struct Session {};

Table<Session> g_sessions;
const Session* const* g_chosen = nullptr;
typedef unsigned long counter_t;
counter_t g_counters[16];

namespace {
__attribute__((used)) Table<bool>* g_hidden = nullptr;
}  // namespace

__attribute__((abi_tag("cxx11"))) Session* g_tagged = nullptr;

}  // namespace sample
