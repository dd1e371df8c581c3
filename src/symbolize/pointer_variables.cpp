// SPDX-License-Identifier: MIT
#include "symbolize/pointer_variables.hpp"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "symbolize/type_names.hpp"

namespace heapwright::symbolize {
namespace {

constexpr int most_scopes_inside = 64;
constexpr std::size_t most_places = 200'000;
constexpr auto everywhere = static_cast<Dwarf_Addr>(-1);
constexpr int saved_frame = 5;  // rbp

// DWARF's numbers of x86-64's registers, by those of the machine code.
int register_of(unsigned number) noexcept {
  static constexpr std::array<int, 8> first = {0, 2, 1, 3, 6, 7, 5, 4};
  if (number >= 16) return no_register;
  return number < first.size() ? first[number] : static_cast<int>(number);
}

// Behind const, volatile and typedefs.
Dwarf_Die bare_type(Dwarf_Die type, Dwarf_Die& last_typedef) {
  for (int layer = 0; layer < most_type_layers; ++layer) {
    const int tag = dwarf_tag(&type);
    const bool is_shell = tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type;
    Dwarf_Die inner;
    if (!is_shell || !type_of(type, inner)) break;
    if (tag == DW_TAG_typedef) last_typedef = type;
    type = inner;
  }
  return type;
}

bool has_entry_named(Dwarf_Die parent, std::string_view begin) {
  Dwarf_Die die;
  if (dwarf_child(&parent, &die) != 0) return false;
  do {
    const char* const name = dwarf_diename(&die);
    if (name != nullptr && std::string_view(name).starts_with(begin)) return true;
  } while (dwarf_siblingof(&die, &die) == 0);
  return false;
}

// Whether the number of bytes is that of the operation, which pushes a constant.
bool constant_of(Dwarf_Attribute& attribute, std::uint64_t& value) {
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_getlocation(&attribute, &operations, &count) != 0 || count != 1) return false;
  const unsigned atom = operations[0].atom;
  if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
    value = atom - DW_OP_lit0;
    return true;
  }
  value = operations[0].number;
  return atom == DW_OP_const1u || atom == DW_OP_const2u || atom == DW_OP_const4u || atom == DW_OP_const8u ||
         atom == DW_OP_constu || atom == DW_OP_const2s || atom == DW_OP_const4s || atom == DW_OP_consts;
}

// "Node" of "Node<int>".
std::string_view without_arguments(std::string_view name) { return name.substr(0, name.find('<')); }

bool is_prologue(std::span<const std::uint8_t> code) {
  static constexpr std::array<std::uint8_t, 4> marker = {0xf3, 0x0f, 0x1e, 0xfa};
  if (code.size() >= 8 && std::equal(marker.begin(), marker.end(), code.begin())) code = code.subspan(4);
  static constexpr std::array<std::uint8_t, 4> begin = {0x55, 0x48, 0x89, 0xe5};
  return code.size() >= 4 && std::equal(begin.begin(), begin.end(), code.begin());
}

}  // namespace

bool pointee_of(Dwarf_Die& variable, Pointee& pointee) {
  Dwarf_Die type;
  Dwarf_Die unused;
  if (!type_of(variable, type)) return false;
  type = bare_type(type, unused);
  Dwarf_Die target;
  if (dwarf_tag(&type) != DW_TAG_pointer_type || !type_of(type, target)) return false;
  pointee = {};
  target = bare_type(target, pointee.last_typedef);
  Dwarf_Word size = 0;
  const int tag = dwarf_tag(&target);
  pointee.is_class = is_class(target);
  const bool is_declared = pointee.is_class && dwarf_hasattr(&target, DW_AT_declaration) != 0;
  if (!is_declared && (dwarf_aggregate_size(&target, &size) != 0 || size == 0)) return false;
  pointee.type = target;
  pointee.size_bytes = size;
  const bool is_plain =
      tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type || tag == DW_TAG_pointer_type;
  // Of a class with virtual functions, the constructor says which it is.
  pointee.may_be_a_base = pointee.is_class && (dwarf_hasattr(&target, DW_AT_containing_type) != 0 ||
                                               has_entry_named(target, "_vptr"));
  return pointee.is_class || is_plain;
}

std::string name_of(Pointee pointee) {
  std::string name = type_name(pointee.type);
  if (name.empty() && pointee.last_typedef.addr != nullptr) name = qualified_name(pointee.last_typedef);
  return name;
}

bool constructed_by(Dwarf_Die& function, Pointee& pointee) {
  Dwarf_Attribute attribute;
  const char* const name = dwarf_formstring(dwarf_attr_integrate(&function, DW_AT_name, &attribute));
  Dwarf_Die parameter;
  if (name == nullptr || dwarf_child(&function, &parameter) != 0) return false;
  do {
    if (dwarf_tag(&parameter) != DW_TAG_formal_parameter) continue;
    const char* const own = dwarf_formstring(dwarf_attr_integrate(&parameter, DW_AT_name, &attribute));
    if (own == nullptr || std::string_view(own) != "this") continue;  // inlined ones have any order
    if (!pointee_of(parameter, pointee) || !pointee.is_class) return false;
    const char* const of_class = dwarf_diename(&pointee.type);
    return of_class != nullptr && without_arguments(of_class) == without_arguments(name);
  } while (dwarf_siblingof(&parameter, &parameter) == 0);
  return false;
}

PointerVariables::PointerVariables(Dwarf_Die function, std::span<const std::uint8_t> code)
    : has_frame_pointer_(is_prologue(code)) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_attr_integrate(&function, DW_AT_frame_base, &attribute) != nullptr &&
      dwarf_getlocation(&attribute, &operations, &count) == 0 && count == 1) {
    const bool is_canonical = operations[0].atom == DW_OP_call_frame_cfa;
    has_frame_base_ = has_frame_pointer_ && (is_canonical || operations[0].atom == DW_OP_reg6);
    frame_base_ = is_canonical ? 16 : 0;
  }
  has_returned_ = pointee_of(function, returned_);
  read(function, -1, most_scopes_inside);
}

void PointerVariables::read(Dwarf_Die parent, int scope, int layers) {
  Dwarf_Die die;
  if (layers == 0 || dwarf_child(&parent, &die) != 0) return;
  const auto block = static_cast<int>(blocks_.size());
  blocks_.push_back(parent);
  do {
    switch (dwarf_tag(&die)) {
      case DW_TAG_lexical_block:
        read(die, scope, layers - 1);
        break;
      case DW_TAG_inlined_subroutine:
        read_scope(die, scope, layers);
        break;
      case DW_TAG_variable:
      case DW_TAG_formal_parameter:
        read_variable(die, scope, block);
        break;
      case DW_TAG_call_site:
      case DW_TAG_GNU_call_site:
        read_call(die);
        break;
      default:
        break;
    }
  } while (places_.size() < most_places && dwarf_siblingof(&die, &die) == 0);
}

void PointerVariables::read_scope(Dwarf_Die& die, int outer, int layers) {
  Scope scope{.die = die, .outer = outer, .is_constructor = false, .made = {}};
  scope.is_constructor = constructed_by(die, scope.made);
  scopes_.push_back(scope);
  read(die, static_cast<int>(scopes_.size()) - 1, layers - 1);
}

void PointerVariables::read_variable(Dwarf_Die& die, int scope, int block) {
  Dwarf_Attribute attribute;
  Pointee pointee;
  if (dwarf_attr(&die, DW_AT_location, &attribute) == nullptr || !pointee_of(die, pointee)) return;
  Dwarf_Attribute of_name;
  const char* const name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &of_name));
  Place place{};
  place.scope = scope;
  place.is_this = name != nullptr && std::string_view(name) == "this";
  place.pointee = static_cast<std::uint32_t>(pointees_.size());
  pointees_.push_back(pointee);
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  Dwarf_Addr base = 0;
  std::ptrdiff_t offset = 0;
  while (places_.size() < most_places && (offset = dwarf_getlocations(&attribute, offset, &base, &place.begin,
                                                                      &place.end, &operations, &count)) > 0) {
    place.block = place.begin == 0 && place.end == everywhere ? block : -1;
    if (count == 1 && place_of(operations[0], place)) places_.push_back(place);
  }
}

bool PointerVariables::place_of(const Dwarf_Op& operation, Place& place) const {
  place.is_in_memory = operation.atom == DW_OP_fbreg;
  if (place.is_in_memory) {
    place.base = saved_frame;
    place.displacement = static_cast<std::int64_t>(operation.number) + frame_base_;
    return has_frame_base_;
  }
  const bool is_register = operation.atom >= DW_OP_reg0 && operation.atom <= DW_OP_reg31;
  place.base = is_register ? register_of(operation.atom - DW_OP_reg0) : no_register;
  return place.base != no_register;
}

void PointerVariables::read_call(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  Dwarf_Addr at = 0;
  const bool is_known =
      (dwarf_attr(&die, DW_AT_call_return_pc, &attribute) != nullptr ||
       (dwarf_tag(&die) == DW_TAG_GNU_call_site && dwarf_attr(&die, DW_AT_low_pc, &attribute) != nullptr)) &&
      dwarf_formaddr(&attribute, &at) == 0;
  Dwarf_Die parameter;
  if (!is_known || dwarf_child(&die, &parameter) != 0) return;
  do {
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    if (dwarf_attr(&parameter, DW_AT_location, &attribute) == nullptr ||
        dwarf_getlocation(&attribute, &operations, &count) != 0 || count != 1 ||
        operations[0].atom != DW_OP_reg5) {
      continue;
    }
    std::uint64_t value = 0;
    const bool has_value = dwarf_attr(&parameter, DW_AT_call_value, &attribute) != nullptr ||
                           dwarf_attr(&parameter, DW_AT_GNU_call_site_value, &attribute) != nullptr;
    if (has_value && constant_of(attribute, value)) first_arguments_[at] = value;
  } while (dwarf_siblingof(&parameter, &parameter) == 0);
}

bool PointerVariables::is_valid(const Place& place, Dwarf_Addr at) const {
  if (place.block < 0) return at >= place.begin && at < place.end;
  Dwarf_Die block = blocks_[static_cast<std::size_t>(place.block)];
  return dwarf_haspc(&block, at) > 0;
}

bool PointerVariables::is_copy(const Place& place, const PointerCopies& copies, Dwarf_Addr at) const {
  const bool is_there =
      place.is_in_memory ? copies.at(place.base, place.displacement) : copies.in_register(place.base);
  return is_there && is_valid(place, at);
}

// Whether it is known what the constructor works on.
bool PointerVariables::knows_this(int scope, Dwarf_Addr at) const {
  return std::any_of(places_.begin(), places_.end(), [&](const Place& place) {
    return place.scope == scope && place.is_this && is_valid(place, at);
  });
}

const Pointee* PointerVariables::constructed(const PointerCopies& copies, Dwarf_Addr at,
                                             const Fits& fits) const {
  // Outer scopes come first: of a class and its base, whose object is at the same place, the class.
  for (const Place& place : places_) {
    if (place.scope < 0 || !place.is_this || !is_copy(place, copies, at)) continue;
    const Scope& scope = scopes_[static_cast<std::size_t>(place.scope)];
    if (!scope.is_constructor || !fits(scope.made.size_bytes)) continue;
    for (int outer = scope.outer; outer >= 0; outer = scopes_[static_cast<std::size_t>(outer)].outer) {
      const Scope& around = scopes_[static_cast<std::size_t>(outer)];
      const bool may_be_whole = around.is_constructor && fits(around.made.size_bytes);
      if (may_be_whole && !knows_this(outer, at)) return nullptr;
    }
    return &scope.made;
  }
  return nullptr;
}

bool PointerVariables::is_in_constructor(Dwarf_Addr at, const Fits& fits) const {
  return std::any_of(scopes_.begin(), scopes_.end(), [&](const Scope& scope) {
    Dwarf_Die die = scope.die;
    return scope.is_constructor && fits(scope.made.size_bytes) && dwarf_haspc(&die, at) > 0;
  });
}

const Pointee* PointerVariables::held(const PointerCopies& copies, Dwarf_Addr at) const {
  const Pointee* found = nullptr;
  for (const Place& place : places_) {
    if (!is_copy(place, copies, at)) continue;
    const Pointee& pointee = pointees_[place.pointee];
    if (found != nullptr && !found->is_as(pointee)) return nullptr;
    found = &pointee;
  }
  return found;
}

std::uint64_t PointerVariables::first_argument(Dwarf_Addr return_address) const {
  const auto found = first_arguments_.find(return_address);
  return found == first_arguments_.end() ? 0 : found->second;
}

}  // namespace heapwright::symbolize
