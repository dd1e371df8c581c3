// SPDX-License-Identifier: MIT
// A function's variables that are pointers, those of functions inlined into it as well: where they are, and
// what they point to.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolize/pointer_copies.hpp"

namespace heapwright::symbolize {

// What a pointer points to.
struct Pointee {
  Dwarf_Die type{};              // behind typedefs
  Dwarf_Die last_typedef{};      // names a type that has no name
  std::uint64_t size_bytes = 0;  // 0: a class whose members are described elsewhere
  bool is_class = false;
  bool may_be_a_base = false;  // the object may be of a derived class of the same size

  bool is_as(const Pointee& other) const noexcept { return type.addr == other.type.addr; }
};

// As the source writes it; takes about as long as reading the type's unit.
std::string name_of(Pointee pointee);
// Of a pointer to a type that is known; false: of another type.
bool pointee_of(Dwarf_Die& variable, Pointee& pointee);
// The class of a constructor; false: of another function.
bool constructed_by(Dwarf_Die& function, Pointee& pointee);

class PointerVariables {
 public:
  // code: of the begin of the function.
  PointerVariables(Dwarf_Die function, std::span<const std::uint8_t> code);

  using Fits = std::function<bool(std::uint64_t size_bytes)>;
  // The object that an inlined constructor makes of a copied pointer here; nullptr: none. Only of a size that
  // fits.
  const Pointee* constructed(const PointerCopies& copies, Dwarf_Addr at, const Fits& fits) const;
  // Whether code here is of an inlined constructor of an object of a size that fits.
  bool is_in_constructor(Dwarf_Addr at, const Fits& fits) const;
  // What the variables say that are copies here; nullptr: nothing, or they differ.
  const Pointee* held(const PointerCopies& copies, Dwarf_Addr at) const;
  // What the function returns a pointer to; nullptr: nothing that is known.
  const Pointee* returned() const noexcept { return has_returned_ ? &returned_ : nullptr; }
  // The first argument of the call that returns here, where it is constant; 0: not known.
  std::uint64_t first_argument(Dwarf_Addr return_address) const;

 private:
  struct Scope {
    Dwarf_Die die;
    int outer;  // -1: none
    bool is_constructor;
    Pointee made;
  };
  struct Place {
    Dwarf_Addr begin;
    Dwarf_Addr end;
    int base;  // a register, or of which the variable is at a distance
    bool is_in_memory;
    std::int64_t displacement;
    int scope;
    int block;  // the variable is there all over this block; -1: not known by its block
    bool is_this;
    std::uint32_t pointee;
  };

  void read(Dwarf_Die parent, int scope, int layers);
  void read_scope(Dwarf_Die& die, int outer, int layers);
  void read_variable(Dwarf_Die& die, int scope, int block);
  void read_call(Dwarf_Die& die);
  bool place_of(const Dwarf_Op& operation, Place& place) const;
  bool is_valid(const Place& place, Dwarf_Addr at) const;
  bool is_copy(const Place& place, const PointerCopies& copies, Dwarf_Addr at) const;
  bool knows_this(int scope, Dwarf_Addr at) const;

  bool has_frame_pointer_;
  std::int64_t frame_base_ = 0;  // from the frame pointer
  bool has_frame_base_ = false;
  bool has_returned_ = false;
  Pointee returned_;
  std::vector<Scope> scopes_;
  std::vector<Dwarf_Die> blocks_;
  std::vector<Place> places_;
  std::vector<Pointee> pointees_;
  std::unordered_map<Dwarf_Addr, std::uint64_t> first_arguments_;
};

}  // namespace heapwright::symbolize
