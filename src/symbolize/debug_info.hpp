// SPDX-License-Identifier: MIT
// Source lines and inlined calls from an object's DWARF, for many addresses: a unit is indexed when one of
// its addresses is first looked up.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <vector>

#include "symbolize/object_file.hpp"

namespace heapwright::symbolize {

// A source-level frame as text; function is a linker symbol if DWARF has one, otherwise the source name.
struct SourceFrame {
  std::string function;
  std::string file;
  std::uint32_t line = 0;
  bool is_inlined = false;
};

class DebugInfo {
 public:
  // `module` must outlive this. Empty if the object has no DWARF.
  explicit DebugInfo(Dwfl_Module* module);

  bool is_empty() const noexcept { return ranges_.empty(); }

  // Innermost first; the last one is the function that was really called. Empty if the address is not
  // covered.
  std::vector<SourceFrame> frames_at(std::uint64_t address);

  // The function that was really called and covers the address; false: not known.
  bool function_at(std::uint64_t address, Dwarf_Die& function);

 private:
  struct Unit {
    Dwarf_Die die{};   // has the line table (the skeleton of split DWARF)
    Dwarf_Die tree{};  // has the functions
    bool is_indexed = false;
    struct Function {
      std::uint64_t start;
      std::uint64_t end;
      Dwarf_Die die;
    };
    std::vector<Function> functions;  // by start; inner ones after outer ones
  };
  struct Range {
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t unit;
  };

  void add_unit(const Dwarf_Die& die, const Dwarf_Die& tree);
  Unit* unit_at(std::uint64_t address);
  static void index(Unit& unit);
  static bool find_function(const Unit& unit, std::uint64_t address, Dwarf_Die& function);

  std::uint64_t bias_ = 0;
  std::vector<Unit> units_;
  std::vector<Range> ranges_;  // by start
};

}  // namespace heapwright::symbolize
