// SPDX-License-Identifier: MIT
#include "attach/inner_allocator.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

namespace heapwright::attach {
namespace {

using agent::Entry;
using agent::entry_names;
using agent::index_of;

constexpr std::array<std::string_view, 4> known_prefixes = {"_rjem_", "_rjem_je_", "je_", "mi_"};

const Symbol* find(const SymbolTable& table, const std::string& name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

const Symbol* find_function(const SymbolTable& table, const std::string& name) {
  const Symbol* const symbol = find(table, name);
  return symbol != nullptr && symbol->is_function ? symbol : nullptr;
}

using Names = std::initializer_list<const char*>;

// The linker drops functions that are never called, such as calloc of a static libc, or free where a program
// gives sizes back.
bool has_any(const SymbolTable& table, const std::string& prefix, Names names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return find_function(table, prefix + name) != nullptr; });
}

bool has_family(const SymbolTable& table, const std::string& prefix, bool is_static) {
  if (!prefix.empty()) {
    return has_any(table, prefix, {"malloc", "mallocx", "malloc_aligned"}) &&
           has_any(table, prefix, {"free", "dallocx", "sdallocx"});
  }
  if (is_static) return has_any(table, "", {"malloc"}) && has_any(table, "", {"free"});
  const Names all = {"malloc", "calloc", "realloc", "free"};
  return std::all_of(all.begin(), all.end(),
                     [&](const char* name) { return find_function(table, name) != nullptr; });
}

// An allocator's own names before libc's: where both are, the program calls the former.
std::vector<std::string> find_prefixes(const SymbolTable& table, bool is_static) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& prefix) {
    const bool is_known = std::find(found.begin(), found.end(), prefix) != found.end();
    if (!is_known && has_family(table, prefix, is_static)) found.push_back(prefix);
  };
  for (const std::string_view prefix : known_prefixes) add(std::string(prefix));
  // A jemalloc that was built with a project's prefix. No other allocator has a mallocx.
  for (const auto& [name, symbol] : table) {
    const std::size_t bytes = name.ends_with("_je_malloc") ? 6 : name.ends_with("_mallocx") ? 7 : 0;
    if (bytes != 0) add(name.substr(0, name.size() - bytes));
  }
  add("");
  return found;
}

std::optional<std::string> find_prefix(const SymbolTable& table, bool is_static) {
  const auto found = find_prefixes(table, is_static);
  return found.empty() ? std::nullopt : std::optional(found[0]);
}

// A malloc without a prefix is taken for an allocator's only beside functions that nothing else has:
// libraries have functions of this name for many purposes.
bool is_taken_in_library(const SymbolTable& table, const std::string& prefix) {
  return !prefix.empty() || has_any(table, "", {"mallocx", "sdallocx"});
}

// mimalloc's names mean something only with its prefix.
bool may_have(const std::string& prefix, Entry entry) {
  if (entry <= Entry::free_aligned_sized_) return true;
  if (entry >= Entry::mallocx_ && entry <= Entry::sdallocx_) return prefix != "mi_";
  return entry >= Entry::zalloc_ && entry <= Entry::free_aligned_ && prefix == "mi_";
}

// The executable's operators, if they are this allocator's. With a prefix, others call libc's malloc.
bool owns_operators(const SymbolTable& table, const std::string& prefix) {
  const Symbol* const maker = find_function(table, "_Znwm");
  if (maker == nullptr || find_function(table, "_ZdlPv") == nullptr) return false;
  if (!prefix.empty()) {
    const Symbol* const own = find(table, prefix + "new");
    if (own == nullptr || own->address != maker->address) return false;
  }
  for (std::size_t index = index_of(Entry::new_); index < index_of(Entry::dlclose_); ++index) {
    const Entry form = nothrow_form(static_cast<Entry>(index));
    if (form == Entry::count_ || find(table, entry_names[index]) == nullptr) continue;
    if (find_function(table, entry_names[index_of(form)]) == nullptr) return false;
  }
  return true;
}

// Of a libc that is linked in.
void add_of_system(const SymbolTable& table, Allocator& allocator) {
  for (std::size_t index = 0; index < agent::entry_count; ++index) {
    const auto entry = static_cast<Entry>(index);
    const Symbol* const symbol = is_of_system(entry) ? find_function(table, entry_names[index]) : nullptr;
    if (symbol != nullptr) allocator.points.push_back({entry, *symbol});
  }
}

void add_points(const SymbolTable& table, const std::string& prefix, Allocator& allocator) {
  const bool has_operators = allocator.operators == Operators::of_allocator;
  for (std::size_t index = 0; index < agent::entry_count; ++index) {
    const auto entry = static_cast<Entry>(index);
    const bool is_operator = entry >= Entry::new_ && entry < Entry::dlclose_;
    if (entry == Entry::dlclose_ || (is_operator ? !has_operators : !may_have(prefix, entry))) continue;
    const Symbol* const symbol = find_function(table, (is_operator ? "" : prefix) + entry_names[index]);
    if (symbol != nullptr) allocator.points.push_back({entry, *symbol});
  }
}

// Some of them are called by glibc itself at a thread's end, for blocks that the program has released.
void mark_glibc(const SymbolTable& table, Allocator& allocator) {
  // jemalloc has the first name as well.
  const Symbol* const own = find(table, "__libc_malloc");
  const bool is_own = own != nullptr && own->address == allocator.points[0].symbol.address;
  allocator.is_glibc = is_own && find(table, "_int_malloc") != nullptr;
  const Symbol* const at_thread_end = find(table, "__malloc_arena_thread_freeres");
  if (!allocator.is_glibc || at_thread_end == nullptr) return;
  allocator.own_code = at_thread_end->address;
  allocator.own_code_bytes = at_thread_end->size;
}

void add_usable_size(const SymbolTable& table, const std::string& prefix, Allocator& allocator) {
  for (const char* name : {"malloc_usable_size", "usable_size"}) {
    const Symbol* const usable = find_function(table, prefix + name);
    if (usable != nullptr && allocator.usable_size == 0) allocator.usable_size = usable->address;
  }
}

void add_code(const std::vector<Mapping>& maps, Allocator& allocator) {
  const Mapping* const code = find_mapping(maps, allocator.points[0].symbol.address);
  if (code == nullptr) return;
  allocator.code = code->begin;
  allocator.code_bytes = code->end - code->begin;
}

// As reports and replays know it: the family comes first.
std::string name_of(const Allocator& allocator, const std::string& prefix) {
  if (allocator.is_glibc) return "glibc (static)";
  const std::string function = prefix + "malloc";
  if (prefix == "mi_") return "mimalloc inside (" + function + ")";
  if (!prefix.empty()) return "jemalloc inside (" + function + ")";
  return "the program's own malloc";
}

std::string unseen_beside(const TargetMemory& memory, const SymbolTable& table, const std::string& prefix,
                          const std::vector<Module>& modules) {
  const std::string own = prefix + "malloc";
  const Symbol* const general = find(table, "malloc");
  const Symbol* const inner = find(table, own);
  const bool is_general = general != nullptr && inner != nullptr && general->address == inner->address;
  const bool is_exported = !modules.empty() && find_symbol(memory, modules[0], "malloc").has_value();
  if (is_general && (modules.empty() || is_exported)) return "";
  return "calls to the C library's malloc and free are not seen, only those to " + own + " and the like";
}

}  // namespace

std::optional<InnerAllocator> find_inner_allocator(const TargetMemory& memory, const SymbolTable& table,
                                                   const std::vector<Module>& modules,
                                                   const std::vector<Mapping>& maps) {
  const std::optional<std::string> prefix = find_prefix(table, modules.empty());
  if (!prefix) return std::nullopt;
  InnerAllocator found;
  Allocator& allocator = found.allocator;
  allocator.is_inner = true;
  allocator.operators = owns_operators(table, *prefix) ? Operators::of_allocator : Operators::none;
  add_points(table, *prefix, allocator);
  add_of_system(table, allocator);
  mark_glibc(table, allocator);
  allocator.is_musl = modules.empty() ? find(table, "__init_tp") != nullptr : has_musl(memory, modules);
  add_usable_size(table, *prefix, allocator);
  add_code(maps, allocator);
  allocator.name = name_of(allocator, *prefix);
  found.unseen = unseen_beside(memory, table, *prefix, modules);
  return found;
}

std::vector<Allocator> find_allocators_in_library(const SymbolTable& table, const std::string& file,
                                                  const std::vector<Mapping>& maps) {
  std::vector<Allocator> found;
  for (const std::string& prefix : find_prefixes(table, false)) {
    if (!is_taken_in_library(table, prefix)) continue;
    Allocator allocator;
    allocator.is_inner = true;
    allocator.operators = owns_operators(table, prefix) ? Operators::of_allocator : Operators::none;
    add_points(table, prefix, allocator);
    const std::uint64_t first = allocator.points[0].symbol.address;
    const bool is_known = std::any_of(found.begin(), found.end(), [&](const Allocator& other) {
      return other.points[0].symbol.address == first;
    });
    if (is_known) continue;
    add_usable_size(table, prefix, allocator);
    add_code(maps, allocator);
    const std::string family = prefix == "mi_" ? "mimalloc" : "jemalloc";
    allocator.name = family + " inside " + file + " (" + prefix + "malloc)";
    found.push_back(std::move(allocator));
  }
  return found;
}

}  // namespace heapwright::attach
