// SPDX-License-Identifier: MIT
#include "attach/entry_points.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "attach/refusal.hpp"

namespace heapwright::attach {
namespace {

using agent::Entry;
using agent::entry_names;
using agent::index_of;

const char* name_of(Entry entry) { return entry_names[index_of(entry)]; }

const Module* first_with(const TargetMemory& memory, const std::vector<Module>& modules, const char* name) {
  for (const Module& module : modules) {
    if (find_symbol(memory, module, name)) return &module;
  }
  return nullptr;
}

std::string file_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_runtime(const Module& module) {
  const std::string file = file_of(module.path);
  return file.starts_with("libstdc++.so") || file.starts_with("libc++.so") ||
         file.starts_with("libc++abi.so");
}

void refuse_what_is_observed(const TargetMemory& memory, const std::vector<Module>& modules,
                             const Module& allocator) {
  const std::string file = file_of(allocator.path);
  if (file.starts_with("libheapwright-record")) throw Refusal("it is being recorded by heapwright");
  if (file.starts_with("libheapwright-count")) {
    throw Refusal("it runs with libheapwright-count.so and counts by itself; see heapwright top");
  }
  for (const char* name : {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init"}) {
    if (first_with(memory, modules, name) != nullptr) {
      throw Refusal("it is built with a sanitizer, which brings its own heap; build it without -fsanitize");
    }
  }
}

class Points {
 public:
  Points(const TargetMemory& memory, Allocator& allocator) : memory_(memory), allocator_(allocator) {}

  void add(const Module& module, Entry entry) {
    const auto symbol = find_symbol(memory_, module, name_of(entry));
    if (symbol && symbol->is_function) allocator_.points.push_back({entry, *symbol});
  }

 private:
  const TargetMemory& memory_;
  Allocator& allocator_;
};

// A throwing operator is patched with a hook that calls its nothrow form, so each one needs that form.
bool has_nothrow_forms(const TargetMemory& memory, const Module& module) {
  for (std::size_t index = 0; index < agent::entry_count; ++index) {
    const Entry form = nothrow_form(static_cast<Entry>(index));
    if (form == Entry::count_ || !find_symbol(memory, module, entry_names[index])) continue;
    if (!find_symbol(memory, module, name_of(form))) return false;
  }
  return true;
}

Operators whose_operators(const TargetMemory& memory, const std::vector<Module>& modules,
                          const Module& allocator) {
  const Module* const maker = first_with(memory, modules, name_of(Entry::new_));
  if (maker == nullptr || maker != first_with(memory, modules, name_of(Entry::delete_))) {
    return Operators::none;
  }
  if (maker == &allocator) {
    return has_nothrow_forms(memory, allocator) ? Operators::of_allocator : Operators::none;
  }
  return is_runtime(*maker) ? Operators::of_runtime : Operators::none;
}

void add_points(const TargetMemory& memory, const std::vector<Module>& modules, const Module& module,
                Allocator& allocator) {
  Points points(memory, allocator);
  for (std::size_t index = 0; index < index_of(Entry::new_); ++index) {
    points.add(module, static_cast<Entry>(index));
  }
  if (allocator.operators == Operators::of_runtime) {
    const Module* const runtime = first_with(memory, modules, name_of(Entry::new_));
    for (const Entry entry : {Entry::new_, Entry::delete_, Entry::delete_aligned_}) {
      points.add(*runtime, entry);
    }
  }
  if (allocator.operators != Operators::of_allocator) return;
  for (std::size_t index = index_of(Entry::new_); index < index_of(Entry::dlclose_); ++index) {
    points.add(module, static_cast<Entry>(index));
  }
}

// The name that the preloaded recorder would give, as far as it can be read without a call: glibc's version
// is the text whose address gnu_get_libc_version returns (lea 0x...(%rip),%rax; ret).
std::string allocator_name(const TargetMemory& memory, const Module& module, bool is_glibc) {
  const std::string file = file_of(module.path);
  if (!is_glibc) return file.empty() ? "the program's own" : file + " (" + module.path + ")";
  constexpr std::array<std::uint8_t, 3> load_address{0x48, 0x8d, 0x05};
  constexpr std::size_t instruction_bytes = 7;
  const auto function = find_symbol(memory, module, "gnu_get_libc_version");
  const auto code = memory.bytes_at(function->address, instruction_bytes);
  std::string version;
  if (code.size() == instruction_bytes &&
      std::equal(load_address.begin(), load_address.end(), code.begin())) {
    std::int32_t distance = 0;
    std::memcpy(&distance, code.data() + load_address.size(), sizeof distance);
    version = memory.text_at(function->address + instruction_bytes +
                             static_cast<std::uint64_t>(std::int64_t{distance}));
  }
  const bool is_version = !version.empty() && version.find_first_not_of("0123456789.") == std::string::npos;
  return "glibc " + (is_version ? version + " " : "") + "(" + module.path + ")";
}

}  // namespace

Entry nothrow_form(Entry entry) noexcept {
  switch (entry) {
    case Entry::new_:
      return Entry::new_nothrow_;
    case Entry::new_array_:
      return Entry::new_array_nothrow_;
    case Entry::new_aligned_:
      return Entry::new_aligned_nothrow_;
    case Entry::new_array_aligned_:
      return Entry::new_array_aligned_nothrow_;
    default:
      return Entry::count_;
  }
}

bool has_musl(const TargetMemory& memory, const std::vector<Module>& modules) {
  const Module* const libc = first_with(memory, modules, "__libc_start_main");
  return libc != nullptr && find_symbol(memory, *libc, "dlopen") &&
         find_symbol(memory, *libc, "__tls_get_addr") && !find_symbol(memory, *libc, "gnu_get_libc_version");
}

Allocator find_allocator(const TargetMemory& memory, const std::vector<Module>& modules,
                         const std::vector<Mapping>& maps) {
  if (modules.empty()) {
    throw Refusal("it is linked statically, or at its very start: where its malloc is cannot be found");
  }
  const Module* const module = first_with(memory, modules, "malloc");
  if (module == nullptr) throw Refusal("none of its libraries has a malloc");
  refuse_what_is_observed(memory, modules, *module);
  const Module* const glibc = first_with(memory, modules, "gnu_get_libc_version");
  if (glibc == nullptr && !has_musl(memory, modules)) {
    throw Refusal(
        "its C library is neither glibc nor musl; start it with heapwright record or heapwright count");
  }
  Allocator allocator;
  allocator.path = module->path;
  allocator.is_glibc = module == glibc;
  allocator.is_musl = glibc == nullptr;
  allocator.name = allocator_name(memory, *module, allocator.is_glibc);
  allocator.operators = whose_operators(memory, modules, *module);
  add_points(memory, modules, *module, allocator);
  const bool has_malloc = !allocator.points.empty() && allocator.points[0].entry == Entry::malloc_;
  if (!has_malloc) {
    throw Refusal("its malloc is chosen when the program starts (IFUNC), which is not supported");
  }
  if (const auto usable = find_symbol(memory, *module, "malloc_usable_size")) {
    allocator.usable_size = usable->address;
  }
  const Mapping* const code = find_mapping(maps, allocator.points[0].symbol.address);
  if (code != nullptr) {
    allocator.code = code->begin;
    allocator.code_bytes = code->end - code->begin;
  }
  if (allocator.is_glibc) {
    allocator.own_code = allocator.code;
    allocator.own_code_bytes = allocator.code_bytes;
  }
  return allocator;
}

}  // namespace heapwright::attach
