// SPDX-License-Identifier: MIT
#include "attach/library_allocators.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "attach/inner_allocator.hpp"
#include "attach/symbol_table.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::attach {
namespace {

constexpr std::size_t page_bytes = 4096;

// The file that the module was loaded from, as the process's mappings name it; empty: it is gone, or another
// file has its name by now.
std::string file_of(pid_t process, const TargetMemory& memory, const Module& module,
                    const std::vector<Mapping>& maps) {
  const Mapping* const first = find_mapping(maps, module.base);
  if (first == nullptr || first->begin != module.base || !first->name.starts_with('/')) return "";
  std::string path = tracee::memory_folder(process) + "/root" + first->name;
  std::vector<std::uint8_t> page(page_bytes);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(page.data()), page_bytes);
  page.resize(static_cast<std::size_t>(file.gcount()));
  // Headers, and mostly the build id, lie there.
  return !page.empty() && memory.bytes_at(module.base, page.size()) == page ? path : "";
}

// The C library and its loader have mallocs of their own for themselves.
// CPython has a mimalloc that it does not use.
bool is_passed_over(const TargetMemory& memory, const Module& module) {
  constexpr const char* marks[] = {"gnu_get_libc_version", "_dl_debug_state", "__libc_start_main",
                                   "_PyRuntime"};
  return std::any_of(std::begin(marks), std::end(marks),
                     [&](const char* mark) { return find_symbol(memory, module, mark).has_value(); });
}

}  // namespace

std::vector<Allocator> find_library_allocators(pid_t process, const TargetMemory& memory,
                                               const std::vector<Module>& modules,
                                               const std::vector<Mapping>& maps, const Allocator& general) {
  std::vector<Allocator> found;
  for (std::size_t index = 1; index < modules.size(); ++index) {
    const Module& module = modules[index];
    if (module.path.empty() || module.path == general.path || is_passed_over(memory, module)) continue;
    const std::string path = file_of(process, memory, module, maps);
    if (path.empty()) continue;
    const std::string file = module.path.substr(module.path.rfind('/') + 1);
    const SymbolTable table = read_library_table(path, module.base);
    for (Allocator& allocator : find_allocators_in_library(table, file, maps)) {
      found.push_back(std::move(allocator));
    }
  }
  return found;
}

}  // namespace heapwright::attach
