// SPDX-License-Identifier: MIT
// The memory of a stopped process that holds blocks without being one: variables, stacks, own mappings.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collect/live_heap.hpp"
#include "collect/module_variables.hpp"
#include "trace/heap_graph.hpp"
#include "trace/residency.hpp"
#include "tracee/stopped_process.hpp"

namespace heapwright::collect {

struct RootRange {
  AddressRange range;
  trace::RootKind kind = trace::RootKind::mapping;
  std::uint64_t thread_id = 0;
  std::string module;
  const ModuleVariables* variables = nullptr;  // of `data`
  std::uint64_t bias = 0;                      // of the module's addresses
  bool is_libc = false;
};

class RootRanges {
 public:
  // `folder` of the process in /proc. Arguments outlive this.
  RootRanges(const std::vector<trace::Mapping>& mappings, const tracee::StoppedProcess& process,
             const LiveHeap& heap, const std::string& folder);

  // They do not overlap.
  const std::vector<RootRange>& all() const noexcept { return ranges_; }

 private:
  void add_modules(const std::string& folder);
  void add_threads();
  void add_thread(const tracee::StoppedThread& thread);
  void add_mappings();
  // What no earlier range has.
  void add(RootRange range);
  void cover(AddressRange range);
  const trace::Mapping* mapping_at(std::uint64_t address) const;
  bool has_block(AddressRange range) const;

  const std::vector<trace::Mapping>& mappings_;
  const tracee::StoppedProcess& process_;
  const LiveHeap& heap_;
  std::vector<RootRange> ranges_;
  std::map<std::uint64_t, std::uint64_t> covered_;  // end by begin, disjoint
  std::map<std::string, std::unique_ptr<ModuleVariables>> modules_;
  std::uint64_t thread_local_bytes_ = 0;
};

}  // namespace heapwright::collect
