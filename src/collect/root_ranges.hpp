// SPDX-License-Identifier: MIT
// The memory of a stopped process that holds blocks without being one: variables, stacks, own mappings.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "collect/live_heap.hpp"
#include "collect/process_image.hpp"
#include "collect/stack_frames.hpp"
#include "trace/heap_graph.hpp"

namespace heapwright::collect {

struct RootRange {
  AddressRange range;
  trace::RootKind kind = trace::RootKind::mapping;
  std::uint64_t thread_id = 0;
  std::string module;
  std::string function;                  // of `stack`: whose frame it is
  const VariableNames* names = nullptr;  // of `data` and `thread_local_`
  std::uint64_t bias = 0;                // of the names' addresses
  bool is_libc = false;
  std::uint32_t mapping_stack = 0;  // of `mapping`: of the call that mapped it; 0: not known
};

class RootRanges {
 public:
  // Arguments outlive this.
  RootRanges(const ProcessImage& image, const LiveHeap& heap, StackFrames& frames);

  // They do not overlap.
  const std::vector<RootRange>& all() const noexcept { return ranges_; }
  // A block that the dynamic linker has allocated for thread-local variables: it is one of the ranges.
  bool is_root(std::uint64_t block_address) const { return root_blocks_.contains(block_address); }

 private:
  void add_modules();
  void add_threads();
  void add_thread_local(const tracee::StoppedThread& thread);
  void add_thread_local_of(const std::string& path, const ModuleVariables& module,
                           const tracee::StoppedThread& thread);
  std::uint64_t thread_local_begin(const std::string& path, const ModuleVariables& module,
                                   const tracee::StoppedThread& thread) const;
  std::uint64_t word_at(std::uint64_t address) const;
  void add_thread(const tracee::StoppedThread& thread);
  void add_stack(const RootRange& stack, const tracee::StoppedThread& thread);
  void add_mappings();
  void add_older_blocks();
  // What no earlier range has.
  void add(RootRange range);
  void cover(AddressRange range);
  const trace::Mapping* mapping_at(std::uint64_t address) const;
  bool has_block(AddressRange range) const;

  const ProcessImage& image_;
  const LiveHeap& heap_;
  StackFrames& frames_;
  std::vector<RootRange> ranges_;
  std::map<std::uint64_t, std::uint64_t> covered_;  // end by begin, disjoint
  std::set<std::uint64_t> root_blocks_;
  std::uint64_t thread_local_bytes_ = 0;
  std::size_t unwound_ = 0;  // threads
};

}  // namespace heapwright::collect
