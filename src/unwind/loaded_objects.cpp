// SPDX-License-Identifier: MIT
// length: one way to find an object, for each kind of program
#include "unwind/loaded_objects.hpp"

#include <elf.h>

#include <cstring>

#include "platform/clock.hpp"
#include "platform/pause.hpp"
#include "platform/raw_syscall.hpp"
#include "unwind/interpreter.hpp"
#include "unwind/program_headers.hpp"

// The public part of glibc's structures, declared here so that the library builds with an older <dlfcn.h>.
struct heapwright_link_map {
  std::uint64_t bias;
  const char* name;
  void* dynamic;
};
struct heapwright_found_object {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  heapwright_link_map* link_map;
  void* frame_header;
  unsigned long long reserved[7];
};
// glibc 2.35 and later; lock-free.
extern "C" __attribute__((weak)) int _dl_find_object(void* address, heapwright_found_object* result);

namespace heapwright::unwind {
namespace {

using session::ModuleEntry;

enum ModuleState : std::uint32_t { module_free = 0, module_being_written = 1, module_ready = 2 };

std::atomic<std::uint32_t> epoch{0};
std::atomic<std::uint32_t> unload_count{0};

// Where a module with this start was last found. Only a hint: the entry is always compared.
std::atomic<std::uint32_t> module_hints[256];

std::atomic<std::uint32_t>& hint_for(std::uint64_t start) {
  return module_hints[(start >> 12) * 0x9e3779b97f4a7c15ULL >> 56];
}

// The loader reserves the whole range of a library. An executable's segments may leave gaps; of such a one
// _dl_find_object tells only the segment that was asked for.
void span_all_segments(ObjectTables& object, const void* dynamic) {
  const ProgramHeaders headers = headers_of_program();
  if (headers.first == nullptr) return;
  std::uint64_t start = object.start;
  std::uint64_t end = object.end;
  bool are_its_own = false;
  for (const Elf64_Phdr& segment : headers) {
    const std::uint64_t begin = object.bias + segment.p_vaddr;
    are_its_own |= segment.p_type == PT_DYNAMIC && begin == reinterpret_cast<std::uint64_t>(dynamic);
    if (segment.p_type != PT_LOAD) continue;
    constexpr std::uint64_t page_mask = ~4095ULL;
    if ((begin & page_mask) < start) start = begin & page_mask;
    if (begin + segment.p_memsz > end) end = begin + segment.p_memsz;
  }
  const bool has_gaps = start < object.start || end > object.end;
  if (!are_its_own || !has_gaps) return;
  object.start = start;
  object.end = end;
  object.headers = headers.first;
  object.header_count = headers.count;
}

bool starts_with(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return false;
  }
  return true;
}

// Without a system call in a confined process.
void write_path(const session::ProcessBlock& block, ModuleEntry& entry, const char* name) {
  constexpr std::size_t capacity = sizeof entry.path - 1;
  std::size_t used = 0;
  const auto append = [&](const char* text) {
    while (*text != '\0' && used < capacity) entry.path[used++] = *text++;
  };
  const bool is_confined = block.is_confined.load(std::memory_order_relaxed) != 0;
  const bool is_executable = name == nullptr || *name == '\0';
  if (is_executable) {
    append(block.executable);
  } else if (starts_with(name, "linux-vdso")) {
    append("[vdso]");
  } else {
    if (*name != '/' && !is_confined) {  // loaded by a relative name: relative to the current directory
      const long size = platform::raw_syscall(SYS_getcwd, platform::raw_argument(entry.path), capacity);
      used = size > 1 ? static_cast<std::size_t>(size) - 1 : 0;
      append("/");
    }
    append(name);
  }
  entry.path[used] = '\0';
}

bool is_loaded(const ModuleEntry& entry) {
  return entry.state.load(std::memory_order_acquire) == module_ready &&
         entry.unloaded_ticks.load(std::memory_order_relaxed) == 0;
}

bool is_same(const ModuleEntry& entry, const LoadedObject& object, const BuildId& id) {
  return entry.start == object.tables.start && entry.end == object.tables.end &&
         entry.bias == object.tables.bias && entry.build_id_bytes == id.size_bytes &&
         std::memcmp(entry.build_id, id.bytes, id.size_bytes) == 0;
}

// The program counters in [start, end).
template <typename Change>
void for_each_pc(session::ProcessBlock& block, std::uint64_t start, std::uint64_t end, Change change) {
  for (session::PcEntry& entry : block.pcs) {
    const std::uint64_t key = entry.key.load(std::memory_order_relaxed);
    if (key == 0) continue;
    // A return address may be just after the object's last byte.
    const std::uint64_t pc = key & session::pc_mask;
    const std::uint64_t inside = (key & session::pc_key_exact) != 0 ? pc : pc - 1;
    if (inside >= start && inside < end) change(entry, key);
  }
}

void kill_pcs(session::ProcessBlock& block, std::uint64_t start, std::uint64_t end) {
  for_each_pc(block, start, end, [](session::PcEntry& entry, std::uint64_t) {
    entry.key.fetch_or(session::pc_key_dead, std::memory_order_relaxed);
  });
}

// Those of this process that are mapped.
struct Modules {
  ModuleEntry* first;
  std::uint32_t count;
  ModuleEntry* begin() const { return first; }
  ModuleEntry* end() const { return first + count; }
};

// A mapping holds at least what its level says, at whatever time the level is read.
Modules modules_of(const Tables& tables) {
  if (tables.modules == nullptr) return {tables.block->modules, session::max_modules};
  const std::uint32_t level = tables.modules->level();
  return {static_cast<ModuleEntry*>(tables.modules->memory()), module_levels[level]};
}

// A program that loads libraries repeatedly would fill the table with one set of slots each time. Only a
// build id shows that it is the same library.
void revive_pcs(const Tables& tables, const LoadedObject& object, const BuildId& id) {
  if (id.size_bytes == 0) return;
  session::ProcessBlock& block = *tables.block;
  const Modules modules = modules_of(tables);
  for_each_pc(block, object.tables.start, object.tables.end, [&](session::PcEntry& entry, std::uint64_t key) {
    if ((key & session::pc_key_dead) == 0) return;
    const std::uint32_t module = block.pc_modules[&entry - block.pcs].load(std::memory_order_relaxed);
    if (module == 0 || module > modules.count || !is_same(modules.first[module - 1], object, id)) return;
    entry.key.fetch_and(~session::pc_key_dead, std::memory_order_relaxed);
  });
}

void retire(const Tables& tables, ModuleEntry& entry) {
  std::uint64_t expected = 0;
  const std::uint64_t now = platform::read_ticks(tables.ticks_are_tsc);
  if (!entry.unloaded_ticks.compare_exchange_strong(expected, now, std::memory_order_relaxed)) return;
  kill_pcs(*tables.block, entry.start, entry.end);
  epoch.fetch_add(1, std::memory_order_release);
}

// Another thread writes an entry within microseconds; if it was stopped midway, the worst result is a module
// listed twice.
void wait_until_written(const ModuleEntry& entry) {
  for (int i = 0; i < 2000 && entry.state.load(std::memory_order_acquire) == module_being_written; ++i) {
    platform::pause();
  }
}

void write_module(const Tables& tables, ModuleEntry& entry, std::uint32_t index, const LoadedObject& object,
                  const BuildId& id) {
  session::ProcessBlock& block = *tables.block;
  entry.start = object.tables.start;
  entry.end = object.tables.end;
  entry.bias = object.tables.bias;
  entry.build_id_bytes = id.size_bytes;
  std::memcpy(entry.build_id, id.bytes, id.size_bytes);
  write_path(block, entry, object.name);
  entry.loaded_ticks = platform::read_ticks(tables.ticks_are_tsc);
  entry.unloaded_ticks.store(0, std::memory_order_relaxed);
  entry.state.store(module_ready, std::memory_order_release);
  std::uint32_t count = block.module_count.load(std::memory_order_relaxed);
  while (count <= index &&
         !block.module_count.compare_exchange_weak(count, index + 1, std::memory_order_release)) {
  }
}

// Whether module `index` can be reached, now or before.
bool has_module(const Tables& tables, std::uint32_t index) {
  if (tables.modules == nullptr) return index < session::max_modules;
  while (index >= module_levels[tables.modules->level()]) {
    const std::uint32_t next = tables.modules->level() + 1;
    if (next > last_module_level || !tables.modules->grow(next)) return false;
  }
  return true;
}

std::uint32_t add_module(const Tables& tables, const LoadedObject& object, const BuildId& id) {
  for (std::uint32_t index = 0; has_module(tables, index); ++index) {
    ModuleEntry& entry = modules_of(tables).first[index];
    std::uint32_t state = module_free;
    if (entry.state.compare_exchange_strong(state, module_being_written, std::memory_order_acquire)) {
      revive_pcs(tables, object, id);
      write_module(tables, entry, index, object, id);
      return index;
    }
    if (state == module_being_written) wait_until_written(entry);
    if (!is_loaded(entry)) continue;
    if (is_same(entry, object, id)) return index;
    const bool overlaps = entry.start < object.tables.end && object.tables.start < entry.end;
    if (overlaps) retire(tables, entry);
  }
  return no_module;
}

}  // namespace

bool can_find_objects() noexcept { return _dl_find_object != nullptr || has_loader_list(); }

bool find_loaded_object(std::uint64_t address, LoadedObject& object) noexcept {
  heapwright_found_object found;
  const int status =
      _dl_find_object == nullptr ? no_find_object : _dl_find_object(reinterpret_cast<void*>(address), &found);
  if (status == no_find_object) return find_in_loader_list(address, object);
  if (status != 0) return false;
  object.tables = {};
  object.tables.start = reinterpret_cast<std::uint64_t>(found.map_start);
  object.tables.end = reinterpret_cast<std::uint64_t>(found.map_end);
  object.tables.frame_header = reinterpret_cast<std::uint64_t>(found.frame_header);
  object.tables.bias = found.link_map->bias;
  object.name = found.link_map->name;
  const bool is_program = object.name != nullptr && *object.name == '\0';
  if (is_program) span_all_segments(object.tables, found.link_map->dynamic);
  return true;
}

bool is_code_of(const LoadedObject& object, std::uint64_t address) noexcept {
  for (const Elf64_Phdr& segment : headers_of(object.tables)) {
    const std::uint64_t begin = object.tables.bias + segment.p_vaddr;
    const bool is_code = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
    if (is_code && address - begin < segment.p_memsz) return true;
  }
  return false;
}

std::uint32_t note_module(const Tables& tables, const LoadedObject& object) noexcept {
  const BuildId id = read_build_id(object.tables);
  std::atomic<std::uint32_t>& hint = hint_for(object.tables.start);
  const std::uint32_t hinted = hint.load(std::memory_order_relaxed);
  const Modules modules = modules_of(tables);
  const bool is_hit = hinted < modules.count && is_loaded(modules.first[hinted]) &&
                      is_same(modules.first[hinted], object, id);
  if (is_hit) return hinted;
  const std::uint32_t index = add_module(tables, object, id);
  if (index != no_module) hint.store(index, std::memory_order_relaxed);
  return index;
}

void retire_unloaded_modules(const Tables& tables) noexcept {
  unload_count.fetch_add(1, std::memory_order_release);
  for (ModuleEntry& entry : modules_of(tables)) {
    if (entry.state.load(std::memory_order_relaxed) == module_free) break;
    if (!is_loaded(entry)) continue;
    LoadedObject object;
    const bool is_there =
        find_loaded_object(entry.start, object) && is_same(entry, object, read_build_id(object.tables));
    if (!is_there) retire(tables, entry);
  }
}

std::uint32_t unloads() noexcept { return unload_count.load(std::memory_order_acquire); }

std::uint32_t module_epoch() noexcept { return epoch.load(std::memory_order_acquire); }

void announce_interpreter() noexcept { epoch.fetch_or(epoch_with_interpreter, std::memory_order_release); }

}  // namespace heapwright::unwind
