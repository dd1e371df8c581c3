// SPDX-License-Identifier: MIT
#include "symbolize/debug_info.hpp"

#include <dwarf.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace heapwright::symbolize {
namespace {

// Limits for damaged DWARF: entries that refer to each other in a circle, ranges without end.
constexpr int max_depth = 64;
constexpr std::uint32_t max_entries_per_unit = 8'000'000;
constexpr std::size_t max_ranges_per_entry = 1U << 20;
constexpr int max_inline_depth = 256;
constexpr int max_steps_back = 64;

// Calls visit(start, end) for each address range of an entry.
template <typename Visit>
void for_each_range(Dwarf_Die die, const Visit& visit) {
  Dwarf_Addr base = 0;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  std::ptrdiff_t offset = 0;
  for (std::size_t i = 0; i < max_ranges_per_entry; ++i) {
    offset = dwarf_ranges(&die, offset, &base, &start, &end);
    if (offset <= 0) return;
    // Code that the linker dropped remains at address 0.
    if (start != 0 && start < end) visit(start, end);
  }
}

std::string clean_path(const char* path) {
  if (path == nullptr) return {};
  const std::string_view text(path);
  if (text.find("/.") == std::string_view::npos) return std::string(text);
  return std::filesystem::path(text).lexically_normal().string();
}

std::string function_name(Dwarf_Die die) {
  Dwarf_Attribute attribute;
  for (const unsigned name :
       {static_cast<unsigned>(DW_AT_linkage_name), static_cast<unsigned>(DW_AT_MIPS_linkage_name),
        static_cast<unsigned>(DW_AT_name)}) {
    if (dwarf_attr_integrate(&die, name, &attribute) == nullptr) continue;
    const char* text = dwarf_formstring(&attribute);
    if (text != nullptr) return text;
  }
  return {};
}

std::uint32_t unsigned_attribute(Dwarf_Die die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0) return 0;
  return value > UINT32_MAX ? 0 : static_cast<std::uint32_t>(value);
}

// Where the inlined call is in its caller.
void read_call_site(Dwarf_Die inlined, Dwarf_Die unit, SourceFrame& caller) {
  caller.line = unsigned_attribute(inlined, DW_AT_call_line);
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrcfiles(&unit, &files, &count) != 0) return;
  const std::uint32_t number = unsigned_attribute(inlined, DW_AT_call_file);
  if (number < count) caller.file = clean_path(dwarf_filesrc(files, number, nullptr, nullptr));
}

void read_line(Dwarf_Die unit, std::uint64_t address, SourceFrame& frame) {
  Dwarf_Line* line = dwarf_getsrc_die(&unit, address);
  if (line == nullptr) return;
  int number = 0;
  if (dwarf_lineno(line, &number) == 0 && number > 0) frame.line = static_cast<std::uint32_t>(number);
  frame.file = clean_path(dwarf_linesrc(line, nullptr, nullptr));
}

// Finds the inlined call below `parent` that covers the address; descends into lexical blocks.
bool find_inlined(Dwarf_Die parent, std::uint64_t address, std::uint32_t& budget, Dwarf_Die& found) {
  for (int depth = 0; depth < max_depth; ++depth) {
    Dwarf_Die child;
    if (dwarf_child(&parent, &child) != 0) return false;
    bool descended = false;
    do {
      if (budget == 0) return false;
      --budget;
      const int tag = dwarf_tag(&child);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) continue;
      if (dwarf_haspc(&child, address) <= 0) continue;
      if (tag == DW_TAG_inlined_subroutine) {
        found = child;
        return true;
      }
      parent = child;
      descended = true;
      break;
    } while (dwarf_siblingof(&child, &child) == 0);
    if (!descended) return false;
  }
  return false;
}

bool may_hold_functions(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_compile_unit:
      return true;
    default:
      return false;
  }
}

}  // namespace

DebugInfo::DebugInfo(Dwfl_Module* module) {
  Dwarf_Addr bias = 0;
  Dwarf* dwarf = dwfl_module_getdwarf(module, &bias);
  if (dwarf == nullptr) return;
  bias_ = bias;
  Dwarf_CU* unit = nullptr;
  Dwarf_CU* next = nullptr;
  Dwarf_Die die;
  Dwarf_Die split;
  std::uint8_t type = 0;
  while (dwarf_get_units(dwarf, unit, &next, nullptr, &type, &die, &split) == 0) {
    unit = next;
    const bool is_split = type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid;
    if (dwarf_tag(&die) == DW_TAG_compile_unit || type == DW_UT_skeleton) {
      add_unit(die, is_split ? split : die);
    }
  }
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
}

void DebugInfo::add_unit(const Dwarf_Die& die, const Dwarf_Die& tree) {
  const auto number = static_cast<std::uint32_t>(units_.size());
  const std::size_t before = ranges_.size();
  for_each_range(die, [&](std::uint64_t start, std::uint64_t end) {
    ranges_.push_back({start, end, number});
  });
  if (ranges_.size() == before) return;
  units_.push_back({});
  units_.back().die = die;
  units_.back().tree = tree;
}

DebugInfo::Unit* DebugInfo::unit_at(std::uint64_t address) {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](std::uint64_t value, const Range& range) { return value < range.start; });
  for (int step = 0; step < max_steps_back && after != ranges_.begin(); ++step) {
    --after;
    if (address < after->end) return &units_[after->unit];
  }
  return nullptr;
}

void DebugInfo::index(Unit& unit) {
  unit.is_indexed = true;
  std::uint32_t budget = max_entries_per_unit;
  std::vector<Dwarf_Die> path;  // the current entry, after its ancestors
  Dwarf_Die entry = unit.tree;
  if (dwarf_child(&entry, &entry) != 0) return;
  path.push_back(entry);
  while (!path.empty() && budget-- > 0) {
    Dwarf_Die& current = path.back();
    const int tag = dwarf_tag(&current);
    if (tag == DW_TAG_subprogram) {
      const Dwarf_Die die = current;
      for_each_range(die, [&](std::uint64_t start, std::uint64_t end) {
        unit.functions.push_back({start, end, die});
      });
    }
    Dwarf_Die child;
    if (path.size() < max_depth && may_hold_functions(tag) && dwarf_child(&current, &child) == 0) {
      path.push_back(child);
      continue;
    }
    while (!path.empty() && dwarf_siblingof(&path.back(), &path.back()) != 0) path.pop_back();
  }
  std::stable_sort(unit.functions.begin(), unit.functions.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
}

bool DebugInfo::find_function(const Unit& unit, std::uint64_t address, Dwarf_Die& function) {
  auto after =
      std::upper_bound(unit.functions.begin(), unit.functions.end(), address,
                       [](std::uint64_t value, const auto& candidate) { return value < candidate.start; });
  for (int step = 0; step < max_steps_back && after != unit.functions.begin(); ++step) {
    --after;
    if (address >= after->end) continue;
    function = after->die;
    return true;
  }
  return false;
}

bool DebugInfo::function_at(std::uint64_t module_address, Dwarf_Die& function) {
  const std::uint64_t address = module_address - bias_;
  Unit* const unit = unit_at(address);
  if (unit == nullptr) return false;
  if (!unit->is_indexed) index(*unit);
  return find_function(*unit, address, function);
}

std::vector<SourceFrame> DebugInfo::frames_at(std::uint64_t module_address) {
  const std::uint64_t address = module_address - bias_;
  Unit* unit = unit_at(address);
  if (unit == nullptr) return {};
  if (!unit->is_indexed) index(*unit);

  std::vector<SourceFrame> outer_first;
  Dwarf_Die scope;
  if (find_function(*unit, address, scope)) {
    std::uint32_t budget = max_entries_per_unit;
    outer_first.push_back({function_name(scope), {}, 0, false});
    Dwarf_Die inlined;
    for (int depth = 0; depth < max_inline_depth && find_inlined(scope, address, budget, inlined); ++depth) {
      read_call_site(inlined, unit->die, outer_first.back());
      outer_first.push_back({function_name(inlined), {}, 0, true});
      scope = inlined;
    }
  } else {
    outer_first.emplace_back();
  }
  read_line(unit->die, address, outer_first.back());
  std::reverse(outer_first.begin(), outer_first.end());
  return outer_first;
}

}  // namespace heapwright::symbolize
