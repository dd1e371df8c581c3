// SPDX-License-Identifier: MIT
// In place of record_process.cpp on processors whose code src/attach does not change.
#include "collect/options.hpp"
#include "collect/record_process.hpp"

namespace heapwright::collect {
namespace {

constexpr const char* cannot_attach =
    "the code of a process can be changed on x86-64 only; start the program: heapwright record -- PROGRAM";

}  // namespace

int record_process(const Options& /*options*/) { throw UsageError(cannot_attach); }

std::optional<int> record_patched(const Options& /*options*/, const ProgramCheck& /*check*/) {
  throw NotAttached(cannot_attach);
}

}  // namespace heapwright::collect
