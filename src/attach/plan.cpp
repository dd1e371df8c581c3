// SPDX-License-Identifier: MIT
#include "attach/plan.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "attach/inner_allocator.hpp"
#include "attach/library_allocators.hpp"
#include "attach/process_links.hpp"
#include "attach/refusal.hpp"
#include "counters/program_name.hpp"
#include "tracee/process_status.hpp"
#include "unwind/find_interpreter.hpp"

namespace heapwright::attach {
namespace {

using agent::Entry;

constexpr std::size_t least_code_bytes = 32;
constexpr std::size_t most_code_bytes = 1 << 16;
constexpr std::uint64_t most_reach = 0x7fff0000;

const char stripped_text[] =
    "its executable is stripped, so where an allocator in it begins is unknown; keep its symbol table (no "
    "strip, no -s), or link it dynamically";
const char without_malloc_text[] =
    "its symbol table names no allocator (malloc, je_malloc, _rjem_malloc, mi_malloc) in the executable, and "
    "no library has one inside";
const char leave_out_text[] = "; to record the C library's, leave out --patch";

// Without these, the counts would be wrong.
bool is_needed(Entry entry) { return entry <= Entry::free_; }

std::uint64_t find_system_call(const TargetMemory& memory, const Mapping* mapping) {
  if (mapping == nullptr) return 0;
  const auto code = memory.bytes_at(mapping->begin, mapping->end - mapping->begin);
  constexpr std::array<std::uint8_t, 2> instruction{0x0f, 0x05};
  const auto found = std::search(code.begin(), code.end(), instruction.begin(), instruction.end());
  return found == code.end() ? 0 : mapping->begin + static_cast<std::uint64_t>(found - code.begin());
}

std::string program_of(pid_t process, const std::string& started_as) {
  if (const char* name = counters::name_in_path(started_as.c_str()); name != nullptr) return name;
  const std::string file = link_of(process, "exe");
  const std::string& path = file.empty() ? started_as : file;
  return path.substr(path.rfind('/') + 1);
}

class Planner {
 public:
  Planner(pid_t process, const TargetMemory& memory, const AgentImage& image, const Wanted& wanted)
      : process_(process),
        memory_(memory),
        image_(image),
        whose_(wanted.whose),
        has_children_(wanted.children) {
    plan_.whose = wanted.whose;
  }

  Plan run() {
    const auto auxiliary = read_auxiliary(process_);
    plan_.maps = read_maps(process_);
    const auto modules = read_modules(memory_, auxiliary);
    take_allocators(modules, auxiliary.contains(AT_ENTRY) ? auxiliary.at(AT_ENTRY) : 0);
    plan_.find_object = address_of(modules, "_dl_find_object");
    plan_.stack_end = address_of(modules, "__libc_stack_end");
    if (is_recording() || plan_.second) find_interpreter(modules);
    find_kernel_functions(auxiliary);
    const auto value = [&](std::uint64_t type) {
      const auto found = auxiliary.find(type);
      return found == auxiliary.end() ? 0 : found->second;
    };
    plan_.headers = value(AT_PHDR);
    plan_.header_count = value(AT_PHNUM);
    plan_.entry = value(AT_ENTRY);
    plan_.loader = value(AT_BASE);
    if (modules.empty()) plan_.frames = find_section(process_, plan_.entry, ".eh_frame");
    if (const auto name = auxiliary.find(AT_EXECFN); name != auxiliary.end()) {
      plan_.started_as = memory_.text_at(name->second);
      plan_.program = program_of(process_, plan_.started_as);
    }
    plan_.regions = find_regions(memory_, plan_.maps);
    for (const FoundRegion& region : plan_.regions) refuse_if_in_use(region);
    choose_region();
    for (const EntryPoint& point : plan_.allocator.points) {
      if (has_hook(point.entry)) add_patch(point);
    }
    if (plan_.second) add_second();
    if (!modules.empty()) add_of_libc(modules);
    return plan_;
  }

 private:
  bool is_recording() const { return image_.kind() == AgentKind::recording; }

  void take_allocators(const std::vector<Module>& modules, std::uint64_t entry) {
    // A static program has no other allocator than the one in it.
    const bool is_of_process = whose_ == Whose::of_process && !modules.empty();
    if (is_of_process) plan_.allocator = find_allocator(memory_, modules, plan_.maps);
    const SymbolTable table = read_symbol_table(process_, entry);
    auto inner = find_inner_allocator(memory_, table, modules, plan_.maps);
    const std::string why = table.empty() ? stripped_text : without_malloc_text;
    if (modules.empty() && !inner) throw Refusal(why);
    if (inner) {
      is_of_process ? take_beside(*inner) : take_inner(*inner, modules);
    } else if (!is_of_process) {
      plan_.allocator = find_allocator(memory_, modules, plan_.maps);
    }
    take_from_libraries(modules);
    const bool has_own = inner || plan_.second || plan_.allocator.path.empty();
    if (!is_of_process && !has_own) throw Refusal(table.empty() ? why : why + leave_out_text);
  }

  // One at most is recorded beside the process's: hooks are compiled for two.
  void take_from_libraries(const std::vector<Module>& modules) {
    for (Allocator& found :
         find_library_allocators(process_, memory_, modules, plan_.maps, plan_.allocator)) {
      if (plan_.second) {
        plan_.notes.push_back("calls of " + found.name + " are not seen, as those of " + plan_.second->name +
                              " are");
        continue;
      }
      plan_.second = std::move(found);
      plan_.is_second_in_library = true;
    }
  }

  void take_beside(InnerAllocator& inner) {
    if (!inner.unseen.empty()) plan_.second = std::move(inner.allocator);
  }

  // And the libraries', if it is another.
  void take_inner(InnerAllocator& inner, const std::vector<Module>& modules) {
    if (!inner.unseen.empty()) {
      try {
        plan_.allocator = find_allocator(memory_, modules, plan_.maps);
        plan_.second = std::move(inner.allocator);
        return;
      } catch (const Refusal&) {
        plan_.notes.push_back(std::move(inner.unseen));
      }
    }
    plan_.allocator = std::move(inner.allocator);
  }

  // If it is not what was asked for, it may be left out.
  void add_second() {
    const std::size_t patches = plan_.patches.size();
    try {
      for (const EntryPoint& point : plan_.second->points) {
        if (has_hook(point.entry)) add_patch(point, true);
      }
    } catch (const Refusal& refusal) {
      if (whose_ == Whose::of_executable) throw;
      plan_.patches.resize(patches);
      plan_.notes.push_back("calls of " + plan_.second->name + " are not seen: " + refusal.what());
      plan_.second.reset();
    }
  }

  std::uint64_t address_of(const std::vector<Module>& modules, const char* name) const {
    for (const Module& module : modules) {
      if (const auto symbol = find_symbol(memory_, module, name)) return symbol->address;
    }
    return 0;
  }

  void find_interpreter(const std::vector<Module>& modules) {
    const auto read = [&](std::uint64_t address, void* to, std::size_t bytes) {
      return memory_.read_some(address, to, bytes) == bytes;
    };
    for (const Module& module : modules) {
      const auto find = [&](const char* name) {
        const auto symbol = find_symbol(memory_, module, name);
        return symbol ? unwind::SymbolPlace{symbol->address, symbol->size} : unwind::SymbolPlace{};
      };
      if (unwind::find_interpreter(find, read, plan_.interpreter)) return;
    }
  }

  void find_kernel_functions(const std::map<std::uint64_t, std::uint64_t>& auxiliary) {
    if (const auto kernel = read_kernel_module(memory_, auxiliary)) {
      if (const auto clock = find_symbol(memory_, *kernel, "__vdso_clock_gettime")) {
        plan_.clock_gettime = clock->address;
      }
      plan_.system_call = find_system_call(memory_, find_mapping(plan_.maps, kernel->base));
    }
    if (plan_.system_call != 0) return;
    plan_.system_call =
        find_system_call(memory_, find_mapping(plan_.maps, plan_.allocator.points[0].symbol.address));
    if (plan_.system_call == 0) throw Refusal("it has no system call instruction to use");
  }

  void choose_region() {
    for (const FoundRegion& region : plan_.regions) {
      if (region.is_annex() || region.head.agent_checksum != image_.checksum() ||
          !is_near(malloc_address(), region.base, Region::bytes(image_))) {
        continue;
      }
      plan_.is_reused = true;
      plan_.region = region.base;
      plan_.slots = region.slots;
      return;
    }
    std::uint64_t lowest = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t highest = 0;
    for (const EntryPoint& point : plan_.allocator.points) {
      if (!is_needed(point.entry) && !plan_.allocator.is_inner) continue;
      lowest = std::min(lowest, point.symbol.address);
      highest = std::max(highest, point.symbol.address);
    }
    const auto room = find_room(plan_.maps, Region::bytes(image_), lowest, highest);
    if (!room) throw Refusal("there is no free address space within 2 GiB of its malloc");
    plan_.region = *room;
    // Not for the annex.
    const Mapping taken{*room, *room + Region::bytes(image_), "r-xp", ""};
    plan_.maps.insert(std::upper_bound(plan_.maps.begin(), plan_.maps.end(), taken, is_before), taken);
  }

  static bool is_before(const Mapping& a, const Mapping& b) { return a.begin < b.begin; }

  // The counting agent has hooks of heap calls, and of those that may forbid it to read the clock.
  bool has_hook(Entry entry) const {
    if (entry == Entry::execve_) return has_children_ && is_recording();
    const bool is_of_heap = entry != Entry::dlclose_ && !agent::is_of_system(entry);
    return is_recording() || is_of_heap || agent::is_confining(entry);
  }

  std::uint64_t malloc_address() const { return plan_.allocator.points[0].symbol.address; }

  void add_of_libc(const std::vector<Module>& modules) {
    for (const Entry entry : {Entry::dlclose_, Entry::mmap_, Entry::munmap_, Entry::mremap_, Entry::madvise_,
                              Entry::exit_, Entry::execve_, Entry::prctl_, Entry::syscall_}) {
      if (has_hook(entry)) add_first(modules, entry);
    }
    const Mapping* const code = find_mapping(plan_.maps, address_of(modules, "mmap"));
    if (code == nullptr) return;
    plan_.libc_code = code->begin;
    plan_.libc_code_bytes = code->end - code->begin;
  }

  void add_first(const std::vector<Module>& modules, Entry entry) {
    for (const Module& module : modules) {
      const auto symbol = find_symbol(memory_, module, agent::entry_names[agent::index_of(entry)]);
      if (symbol && symbol->is_function) return add_patch({entry, *symbol});
    }
  }

  // By a live process. An annex is used with its region.
  void refuse_if_in_use(const FoundRegion& region) const {
    if (region.is_annex()) return;
    const auto tracer = static_cast<pid_t>(region.head.tracer_process);
    const std::uint64_t ticks = region.head.tracer_start_ticks;
    if (ticks == 0 || start_ticks_of(tracer) != ticks || !is_in_use(memory_, region)) return;
    if (tracee::has_ended(tracer, tracer)) return;  // it is an unreaped zombie
    const std::string by = " already, by process " + std::to_string(tracer);
    if (region.head.kind == AgentKind::recording) {
      throw Refusal("it is being recorded" + by + "; end that first");
    }
    throw Refusal("it is being counted" + by + "; see heapwright top " + std::to_string(process_));
  }

  static bool is_near(std::uint64_t function, std::uint64_t begin, std::uint64_t bytes) {
    return std::max(begin + bytes, function) - std::min(begin, function) < most_reach;
  }

  // False: there is no annex for it. All functions that need one are in one executable, or in libraries.
  bool choose_annex(std::uint64_t function) {
    Annex& annex = plan_.annex;
    if (annex.base != 0) return is_near(function, annex.base, annex_bytes);
    for (const FoundRegion& region : plan_.regions) {
      if (!region.is_annex() || region.head.agent_checksum != image_.checksum() ||
          !is_near(function, region.base, annex_bytes)) {
        continue;
      }
      annex = {.base = region.base, .is_reused = true, .slots = region.slots, .jumps = {}};
      annex.jumps.resize(annex.slots.size());
      return true;
    }
    const auto room = find_room(plan_.maps, annex_bytes, function, function);
    annex.base = room.value_or(0);
    return room.has_value();
  }

  // The original code, without our patches.
  std::vector<std::uint8_t> code_of(const Symbol& symbol) const {
    const std::size_t bytes = symbol.size == 0 ? least_code_bytes : std::min(symbol.size, most_code_bytes);
    auto code = memory_.bytes_at(symbol.address, bytes);
    for (const FoundRegion& region : plan_.regions) {
      const Slot* const slot = find_patch(memory_, region, symbol.address);
      if (slot != nullptr && code.size() >= jump_bytes) {
        std::copy(slot->original.begin(), slot->original.end(), code.begin());
      }
    }
    return code;
  }

  void add_patch(const EntryPoint& point, bool is_second = false) {
    const std::uint64_t function = point.symbol.address;
    const bool is_known = std::any_of(plan_.patches.begin(), plan_.patches.end(),
                                      [&](const Patch& patch) { return patch.function == function; });
    if (is_known) return;
    if (const std::string why = try_to_add(point, is_second); !why.empty()) leave_out(point.entry, why);
  }

  void leave_out(Entry entry, const std::string& why) {
    const std::string name = agent::entry_names[agent::index_of(entry)];
    if (is_needed(entry)) throw Refusal("its " + name + " cannot be patched: it " + why);
    if (entry == Entry::execve_) {
      plan_.notes.push_back("programs that it executes are not recorded: its execve " + why);
    }
    // Then the owner of some mapped memory is unknown, or how the process ends, and the report shows it as
    // such.
    if (agent::is_of_system(entry)) return;
    if (entry == Entry::dlclose_) {
      plan_.notes.push_back(
          "an unloaded library may be named instead of the one loaded in its place: " + name + " " + why);
      return;
    }
    plan_.notes.push_back(
        name + (image_.kind() == AgentKind::counting ? " is not counted: it " : " is not recorded: it ") +
        why);
  }

  // Why it cannot be patched; empty: it was added.
  std::string try_to_add(const EntryPoint& point, bool is_second) {
    const std::uint64_t function = point.symbol.address;
    const bool is_far = !is_near(function, plan_.region, Region::bytes(image_));
    if (is_far && !choose_annex(function)) return "is too far away";
    std::vector<Slot>& slots = is_far ? plan_.annex.slots : plan_.slots;
    const auto code = code_of(point.symbol);
    if (code.size() < jump_bytes) return "is too short";
    const std::uint64_t hook = image_.hook(point.entry, is_second, Region(plan_.region, image_).image());
    Patch patch{.entry = point.entry,
                .is_second = is_second,
                .function = function,
                .target = hook,
                .code = 0,
                .original = {},
                .instructions = {}};
    std::copy_n(code.begin(), jump_bytes, patch.original.begin());
    const auto known = std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) {
      return slot.function == function && slot.original == patch.original;
    });
    const auto index = static_cast<std::size_t>(known - slots.begin());
    if (index == max_slots) return "exceeds the number of functions that can be patched";
    patch.code = Region(is_far ? plan_.annex.base : plan_.region, image_).code_of_slot(index);
    const MovedEntry moved = move_entry(code, function, patch.code);
    if (!moved.refusal.empty()) return moved.refusal;
    Slot slot{.function = function, .original = patch.original, .padding = {}, .code = {}};
    if (moved.code.size() > slot.code.size()) return "begins with instructions that need too much room";
    std::copy(moved.code.begin(), moved.code.end(), slot.code.begin());
    if (known == slots.end()) slots.push_back(slot);
    if (is_far) patch.target = add_jump(index, hook);
    patch.instructions = moved.instructions;
    plan_.patches.push_back(std::move(patch));
    return "";
  }

  // Returns its address.
  std::uint64_t add_jump(std::size_t index, std::uint64_t hook) {
    std::vector<FarJump>& jumps = plan_.annex.jumps;
    jumps.resize(plan_.annex.slots.size());
    std::memcpy(jumps[index].target.data(), &hook, sizeof hook);
    return far_jump_of_slot(plan_.annex.base, index);
  }

  pid_t process_;
  const TargetMemory& memory_;
  const AgentImage& image_;
  Whose whose_;
  bool has_children_;
  Plan plan_;
};

}  // namespace

Plan make_plan(pid_t process, const TargetMemory& memory, const AgentImage& image, const Wanted& wanted) {
  return Planner(process, memory, image, wanted).run();
}

}  // namespace heapwright::attach
