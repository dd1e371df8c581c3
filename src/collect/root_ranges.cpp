// SPDX-License-Identifier: MIT
#include "collect/root_ranges.hpp"

#include <algorithm>
#include <iterator>

namespace heapwright::collect {
namespace {

// Below the stack pointer, where functions that call no other keep variables.
constexpr std::uint64_t red_zone_bytes = 128;
// What libc keeps of a thread begins at its thread pointer.
constexpr std::uint64_t thread_record_bytes = 4096;
// In front of it, besides the variables of modules.
constexpr std::uint64_t thread_local_reserve_bytes = 4096;
// Of the table of modules, from the thread pointer on.
#if defined(__x86_64__)
constexpr std::uint64_t table_offset = 8;
#else
constexpr std::uint64_t table_offset = 0;
#endif
// Of thousands of threads each waits in the same functions, and following a stack takes a while.
constexpr std::size_t most_unwound_threads = 256;

bool is_libc(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libc.so") || name.starts_with("libc-2");
}

}  // namespace

RootRanges::RootRanges(const ProcessImage& image, const LiveHeap& heap, StackFrames& frames)
    : image_(image), heap_(heap), frames_(frames) {
  if (heap_.sampled_set.begin < heap_.sampled_set.end) cover(heap_.sampled_set);
  add_modules();
  add_threads();
  add_mappings();
  if (!heap_.has_every_block) add_older_blocks();
}

const trace::Mapping* RootRanges::mapping_at(std::uint64_t address) const {
  const auto after =
      std::upper_bound(image_.mappings.begin(), image_.mappings.end(), address,
                       [](std::uint64_t at, const trace::Mapping& mapping) { return at < mapping.begin; });
  if (after == image_.mappings.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

bool RootRanges::has_block(AddressRange range) const {
  const auto next =
      std::lower_bound(heap_.blocks.begin(), heap_.blocks.end(), range.begin,
                       [](const trace::GraphNode& block, std::uint64_t at) { return block.address < at; });
  if (next != heap_.blocks.end() && next->address < range.end) return true;
  return next != heap_.blocks.begin() && std::prev(next)->address + std::prev(next)->size > range.begin;
}

void RootRanges::cover(AddressRange range) {
  auto at = covered_.upper_bound(range.begin);
  if (at != covered_.begin() && std::prev(at)->second >= range.begin) --at;
  while (at != covered_.end() && at->first <= range.end) {
    range = {std::min(range.begin, at->first), std::max(range.end, at->second)};
    at = covered_.erase(at);
  }
  covered_[range.begin] = range.end;
}

void RootRanges::add(RootRange range) {
  const AddressRange whole = range.range;
  if (whole.begin >= whole.end) return;
  std::uint64_t from = whole.begin;
  auto at = covered_.upper_bound(from);
  if (at != covered_.begin()) --at;
  for (; at != covered_.end() && at->first < whole.end; ++at) {
    if (at->second <= from) continue;
    if (at->first > from) {
      range.range = {from, at->first};
      ranges_.push_back(range);
    }
    from = at->second;
  }
  if (from < whole.end) {
    range.range = {from, whole.end};
    ranges_.push_back(std::move(range));
  }
  cover(whole);
}

void RootRanges::add_modules() {
  std::set<std::string> seen;
  for (const trace::Mapping& mapping : image_.mappings) {
    const auto known = image_.modules.find(mapping.name);
    const bool is_first = known != image_.modules.end() && mapping.file_offset == 0;
    if (!is_first || !seen.insert(mapping.name).second) continue;
    const ModuleVariables& variables = *known->second;
    const std::uint64_t bias = mapping.begin - variables.base();
    thread_local_bytes_ += variables.thread_local_bytes();
    for (const ModuleVariables::Segment& segment : variables.writable()) {
      const AddressRange range{bias + segment.begin, bias + segment.end};
      if (is_recorders(mapping.name)) {
        cover(range);
        continue;
      }
      RootRange root{range, trace::RootKind::data, 0, mapping.name, {}, &variables.names(), bias, false};
      root.is_libc = is_libc(mapping.name);
      add(std::move(root));
    }
  }
}

void RootRanges::add_threads() {
  for (const tracee::StoppedThread& thread : image_.threads) add_thread_local(thread);
  for (const tracee::StoppedThread& thread : image_.threads) add_thread(thread);
}

void RootRanges::add_thread_local(const tracee::StoppedThread& thread) {
  const trace::Mapping* const mapping = mapping_at(thread.thread_pointer);
  if (mapping == nullptr) return;
  const std::uint64_t before = thread_local_bytes_ + thread_local_reserve_bytes;
  RootRange root;
  root.kind = trace::RootKind::thread_local_;
  root.thread_id = static_cast<std::uint64_t>(thread.id);
  root.range = {std::max(mapping->begin, thread.thread_pointer - std::min(before, thread.thread_pointer)),
                std::min(mapping->end, thread.thread_pointer + thread_record_bytes)};
  // A stack may reach up to here: then only what the modules need is certain.
  if (thread.stack_pointer < root.range.end && thread.stack_pointer >= root.range.begin) {
    const std::uint64_t certain =
        thread.thread_pointer - std::min(thread_local_bytes_, thread.thread_pointer);
    root.range.begin = thread.stack_pointer < certain ? certain : thread.thread_pointer;
  }
  for (const auto& [path, module] : image_.modules) add_thread_local_of(path, *module, thread);
  add(std::move(root));
}

void RootRanges::add_thread_local_of(const std::string& path, const ModuleVariables& module,
                                     const tracee::StoppedThread& thread) {
  const std::uint64_t begin = thread_local_begin(path, module, thread);
  const trace::Mapping* const mapping = mapping_at(begin);
  if (begin == 0 || mapping == nullptr) return;
  const AddressRange range{begin, std::min(begin + module.thread_local_size(), mapping->end)};
  if (is_recorders(path)) return cover(range);
  const auto after =
      std::upper_bound(heap_.blocks.begin(), heap_.blocks.end(), begin,
                       [](std::uint64_t at, const trace::GraphNode& block) { return at < block.address; });
  const bool is_in_block =
      after != heap_.blocks.begin() && begin < std::prev(after)->address + std::prev(after)->size;
  if (is_in_block) root_blocks_.insert(std::prev(after)->address);
  RootRange root{range,
                 trace::RootKind::thread_local_,
                 static_cast<std::uint64_t>(thread.id),
                 path,
                 {},
                 &module.thread_local_names(),
                 begin,
                 is_libc(path)};
  add(std::move(root));
}

// Where the thread has the module's variables; 0: it has none, or it is not known.
std::uint64_t RootRanges::thread_local_begin(const std::string& path, const ModuleVariables& module,
                                             const tracee::StoppedThread& thread) const {
  using Kind = ModuleVariables::LinkedWord::Kind;
  if (path == image_.program && module.thread_local_begin() != 0) {
    return thread.thread_pointer + static_cast<std::uint64_t>(module.thread_local_begin());
  }
  const auto linked = image_.linked_words.find(path);
  if (linked == image_.linked_words.end()) return 0;
  const ModuleVariables::LinkedWord& word = module.thread_local_word();
  if (word.kind == Kind::offset) {
    return thread.thread_pointer + linked->second - static_cast<std::uint64_t>(word.within);
  }
  // glibc's table of modules: two words each, of which the first is the address.
  constexpr std::uint64_t most_modules = 1U << 16U;
  if (linked->second == 0 || linked->second > most_modules) return 0;
  const std::uint64_t table = word_at(thread.thread_pointer + table_offset);
  return table == 0 ? 0 : word_at(table + linked->second * 2 * sizeof(std::uint64_t));
}

// 0: it is no pointer, or was not read.
std::uint64_t RootRanges::word_at(std::uint64_t address) const {
  std::uint64_t found = 0;
  image_.words->visit(address, address + sizeof found,
                      [&](std::uint64_t at, std::uint64_t word) { found = at == address ? word : found; });
  return found;
}

// Its stack.
void RootRanges::add_thread(const tracee::StoppedThread& thread) {
  const trace::Mapping* const mapping = mapping_at(thread.stack_pointer);
  // A stack of the program's own may be in a block, which is scanned as a whole.
  if (mapping == nullptr || has_block({thread.stack_pointer, thread.stack_pointer + 1})) return;
  const bool is_threads =
      thread.thread_pointer > thread.stack_pointer && thread.thread_pointer < mapping->end;
  RootRange root;
  root.kind = trace::RootKind::stack;
  root.thread_id = static_cast<std::uint64_t>(thread.id);
  const std::uint64_t end = is_threads ? thread.thread_pointer + thread_record_bytes : mapping->end;
  root.range = {std::max(mapping->begin, thread.stack_pointer - red_zone_bytes), std::min(mapping->end, end)};
  add_stack(root, thread);
  // What is below has been returned from.
  const bool is_alone = mapping->name == "[stack]" || is_threads;
  if (is_alone && !has_block({mapping->begin, root.range.begin})) {
    cover({mapping->begin, root.range.begin});
  }
}

// By the functions that it belongs to, as far as they are known.
void RootRanges::add_stack(const RootRange& stack, const tracee::StoppedThread& thread) {
  std::vector<StackFrame> frames;
  if (unwound_++ < most_unwound_threads) frames = frames_.of(thread);
  std::uint64_t begin = stack.range.begin;
  RootRange part = stack;
  for (std::size_t at = 0; at < frames.size(); ++at) {
    const std::uint64_t end = at + 1 < frames.size() ? frames[at + 1].begin : stack.range.end;
    part.range = {begin, std::min(end, stack.range.end)};
    part.module = frames[at].module;
    part.function = frames[at].function;
    add(part);
    begin = std::max(begin, part.range.end);
  }
  part = stack;
  part.range.begin = begin;
  add(part);
}

// A mapping with blocks is an allocator's: free lists and caches in it point at anything. What the program
// mapped itself counts even then, as the kernel joins neighbours.
void RootRanges::add_mappings() {
  for (const trace::Mapping& mapping : image_.mappings) {
    if (!may_hold_pointers(mapping) || mapping.name == "[heap]") continue;
    RootRange root;
    root.module = mapping.name;
    auto own = std::partition_point(heap_.own_mappings.begin(), heap_.own_mappings.end(),
                                    [&](const OwnMapping& of) { return of.range.end <= mapping.begin; });
    for (; own != heap_.own_mappings.end() && own->range.begin < mapping.end; ++own) {
      root.range = {std::max(own->range.begin, mapping.begin), std::min(own->range.end, mapping.end)};
      root.mapping_stack = own->stack;
      if (!has_block(root.range)) add(root);
    }
    root.range = {mapping.begin, mapping.end};
    root.mapping_stack = 0;
    if (!has_block(root.range)) add(std::move(root));  // the rest
  }
}

// Blocks that the recording does not know may hold those that it knows.
void RootRanges::add_older_blocks() {
  for (const trace::Mapping& mapping : image_.mappings) {
    if (!may_hold_pointers(mapping)) continue;
    RootRange root;
    root.kind = trace::RootKind::older_blocks;
    root.range = {mapping.begin, mapping.end};
    add(std::move(root));
  }
}

}  // namespace heapwright::collect
