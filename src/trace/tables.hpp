// SPDX-License-Identifier: MIT
// The small tables of a trace, gathered from their chunks.
//
// Ids are explicit, so a table with a lost chunk keeps the ids after it: lost frames become frames without a
// module, lost stacks truncated ones.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "trace/block.hpp"
#include "trace/damage.hpp"
#include "trace/input_file.hpp"
#include "trace/record_codec.hpp"

namespace heapwright::trace {

struct Tables {
  Metadata metadata;
  std::vector<Module> modules;
  std::vector<Frame> frames;
  std::vector<StackNode> stacks = {{0, frame_truncated}};  // [0]: the empty stack
  std::vector<Thread> threads;
  std::vector<MemorySample> memory_samples;
  std::vector<Switch> switches;
  std::vector<ProcessorSample> processor_samples;
  std::vector<RefaultRun> refaults;
  std::vector<PythonFrame> python_frames;
  std::vector<CodeName> code_names;
  EmbeddedNames names;
  bool has_names = false;  // even if unreadable
  End end;
};

// Reads one table chunk after the other, in file order.
class TableLoader {
 public:
  TableLoader(const InputFile& file, Tables& tables, std::vector<Damage>& damage)
      : file_(file), tables_(tables), damage_(damage) {}

  // Adds the records of `entry`, or lists it as damaged. Ignores chunks that are not tables.
  void load(const IndexEntry& entry);
  // Makes references between tables valid. `threads`: how many there must be.
  void finish(std::size_t threads);

 private:
  std::uint64_t frames_below() const noexcept;
  std::uint64_t stacks_below() const noexcept;
  // Records that no block of one repeated byte stands for take a byte of the file each, or more.
  std::size_t at_most(std::uint32_t limit) const noexcept;
  void add(const IndexEntry& entry);
  base::ByteSource unpack(const IndexEntry& entry);
  base::ByteSource unpack(const IndexEntry& entry, std::uint64_t& unpacked_bytes, std::uint64_t limit);
  void add_frames(const IndexEntry& entry);
  void add_stacks(const IndexEntry& entry);
  void add_modules(const IndexEntry& entry);
  void add_threads(const IndexEntry& entry);
  void add_names(const IndexEntry& entry);
  void add_named_objects(const IndexEntry& entry);

  const InputFile& file_;
  Tables& tables_;
  std::vector<Damage>& damage_;
  BlockUnpacker unpacker_;
  std::vector<std::uint8_t> chunk_;
  std::vector<std::uint8_t> records_;
  std::uint64_t unpacked_bytes_ = 0;
  std::uint64_t names_bytes_ = 0;  // they have a separate limit
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> module_numbers_;  // by start, loaded_ns
};

}  // namespace heapwright::trace
