// SPDX-License-Identifier: MIT
// In place of count_program.cpp on processors whose code src/attach does not change.
#include "collect/count_program.hpp"

namespace heapwright::collect {

int report_inside(const Options& /*options*/) { return 1; }

int count_program(const Options& /*options*/) {
  throw UsageError("the code of a process can be changed on x86-64 only; leave out --count-for");
}

}  // namespace heapwright::collect
