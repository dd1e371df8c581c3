// SPDX-License-Identifier: MIT
#include "analyze/page_owners.hpp"

#include <algorithm>
#include <string_view>

namespace heapwright::analyze {
namespace {

using trace::Mapping;
using trace::MappingFlag;
using trace::Module;

// The last element, in a range sorted by `begin`, that begins at or before `address`; nullptr: none.
template <typename Range, typename Begin>
const Range* last_from(const std::vector<Range>& ranges, std::uint64_t address, Begin begin) {
  const auto next = std::upper_bound(ranges.begin(), ranges.end(), address,
                                     [&](std::uint64_t at, const Range& range) { return at < begin(range); });
  return next == ranges.begin() ? nullptr : &*std::prev(next);
}

// The path of a mapping and the loader's path of the same library differ if one contains a link.
std::string_view file_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

// The guard below a thread's stack, which the C library keeps when the thread ends.
constexpr std::uint64_t most_guard_bytes = 65536;

bool is_guard(const Mapping& mapping, const Mapping& above) {
  return mapping.end == above.begin && mapping.flags == 0 && mapping.name.empty() &&
         mapping.end - mapping.begin <= most_guard_bytes;
}

bool is_recorder(std::string_view path) { return path.ends_with("/libheapwright-record.so"); }

}  // namespace

const char* name_of(OwnerKind kind) noexcept {
  switch (kind) {
    case OwnerKind::heap:
      return "heap";
    case OwnerKind::program:
      return "program";
    case OwnerKind::library:
      return "library";
    case OwnerKind::main_stack:
      return "stack";
    case OwnerKind::thread_stack:
      return "thread stack";
    case OwnerKind::own_mapping:
      return "own mapping";
    case OwnerKind::recorder:
      return "recorder";
    case OwnerKind::file:
      return "file";
    case OwnerKind::shared_memory:
      return "shared memory";
    case OwnerKind::other:
      return "other";
    case OwnerKind::anonymous:
      break;
  }
  return "unknown";
}

PageOwners::PageOwners(const order::Source& source, std::vector<Mapping> mappings, std::vector<OwnRange> own,
                       std::uint64_t time_ns)
    : mappings_(std::move(mappings)), own_(std::move(own)), program_(source.metadata().program) {
  for (const auto& module : source.modules()) {
    if (module.loaded_ns <= time_ns && (module.unloaded_ns == 0 || module.unloaded_ns > time_ns)) {
      modules_.push_back(module);
      paths_.insert(module.path);
    }
  }
  std::sort(modules_.begin(), modules_.end(),
            [](const Module& a, const Module& b) { return a.start < b.start; });
  for (const auto& thread : source.threads()) {
    const bool is_alive = thread.first_ns <= time_ns && (thread.exit_ns == 0 || thread.exit_ns > time_ns);
    if (thread.stack_address != 0 && is_alive) {
      stacks_[thread.stack_address] = thread.name + " #" + std::to_string(thread.index);
    }
  }
  for (const auto& mapping : mappings_) {
    kinds_.push_back(kind_of(mapping));
  }
}

OwnerKind PageOwners::kind_of(const Mapping& mapping) const {
  const std::string_view name = mapping.name;
  if (name == "[heap]") {
    return OwnerKind::heap;
  }
  if (name == "[stack]") {
    return OwnerKind::main_stack;
  }
  if (name.starts_with("[")) {
    return OwnerKind::other;
  }
  if (name.starts_with("/memfd:heapwright") || is_recorder(name)) {
    return OwnerKind::recorder;
  }
  if (name == program_) {
    return OwnerKind::program;
  }
  if (paths_.contains(mapping.name) || name.ends_with(".so") || name.find(".so.") != name.npos) {
    return OwnerKind::library;
  }
  const bool is_memory = name.starts_with("/dev/shm/") || name.starts_with("/memfd:") ||
                         name.starts_with("/SYSV") || name.starts_with("/dev/zero");
  return is_memory ? OwnerKind::shared_memory : OwnerKind::file;
}

// The file name in its own mappings: the loader's path may be a link with another name.
std::string_view PageOwners::library_name(const Mapping& anonymous, const Module& module) const {
  for (auto below = &anonymous; below != mappings_.data() && below->begin > module.start;) {
    --below;
    if (!below->name.empty()) return file_name(below->name);
  }
  return file_name(module.path);
}

PageOwner PageOwners::of_anonymous(const Mapping& mapping, std::uint64_t address,
                                   std::uint64_t& until) const {
  const auto module = last_from(modules_, address, [](const Module& m) { return m.start; });
  if (module != nullptr && address < module->end) {
    until = std::min(until, (module->end + 4095) & ~std::uint64_t{4095});
    const bool is_program = module->path == program_;
    const auto kind = is_recorder(module->path) ? OwnerKind::recorder
                                                : (is_program ? OwnerKind::program : OwnerKind::library);
    const auto name = kind == OwnerKind::library ? library_name(mapping, *module) : std::string_view();
    return {kind, 0, name, mapping.begin, mapping.end};
  }
  const auto own = last_from(own_, address, [](const OwnRange& range) { return range.begin; });
  if (own != nullptr && address < own->end) {
    until = std::min(until, own->end);
    return {OwnerKind::own_mapping, own->stack, "", mapping.begin, mapping.end, own->begin};
  }
  const auto next_own = own == nullptr ? own_.data() : own + 1;
  if (next_own != own_.data() + own_.size()) {
    until = std::min(until, std::max(next_own->begin, address + 4096));
  }
  const auto stack = stacks_.lower_bound(mapping.begin);
  if (stack != stacks_.end() && stack->first < mapping.end) {
    return {OwnerKind::thread_stack, 0, stack->second, mapping.begin, mapping.end};
  }
  const auto kind = mapping.has(MappingFlag::shared) ? OwnerKind::shared_memory : OwnerKind::anonymous;
  const bool has_guard = &mapping != mappings_.data() && is_guard(*(&mapping - 1), mapping);
  return {kind, 0, "", mapping.begin, mapping.end, 0, kind == OwnerKind::anonymous && has_guard};
}

PageOwner PageOwners::at(std::uint64_t address, std::uint64_t& until) const {
  const auto mapping = last_from(mappings_, address, [](const Mapping& m) { return m.begin; });
  if (mapping == nullptr || address >= mapping->end) {
    // Mapped after the list was read.
    const auto next = mapping == nullptr ? mappings_.data() : mapping + 1;
    until = next == mappings_.data() + mappings_.size() ? UINT64_MAX : next->begin;
    return {OwnerKind::anonymous, 0, "", address, until};
  }
  until = mapping->end;
  // If [heap] begins directly after the program's data, the kernel names both so. The program's own sbrk
  // memory is in it as well.
  if (mapping->name.empty() || mapping->name == "[heap]") {
    const auto owner = of_anonymous(*mapping, address, until);
    const bool is_sure = owner.kind == OwnerKind::program || owner.kind == OwnerKind::own_mapping;
    if (mapping->name.empty() || is_sure) return owner;
  }
  // The kernel's name for anonymous memory shared with children: the site is more specific.
  if (mapping->name.starts_with("/dev/zero")) {
    const auto owner = of_anonymous(*mapping, address, until);
    if (owner.kind == OwnerKind::own_mapping) {
      return {OwnerKind::shared_memory, owner.stack, "", mapping->begin, mapping->end};
    }
  }
  const auto kind = kinds_[static_cast<std::size_t>(mapping - mappings_.data())];
  const bool has_name = kind == OwnerKind::library || kind == OwnerKind::file ||
                        kind == OwnerKind::shared_memory || kind == OwnerKind::other;
  const std::string_view name =
      kind == OwnerKind::library ? file_name(mapping->name) : std::string_view(mapping->name);
  return {kind, 0, has_name ? name : "", mapping->begin, mapping->end};
}

}  // namespace heapwright::analyze
