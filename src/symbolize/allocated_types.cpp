// SPDX-License-Identifier: MIT
#include "symbolize/allocated_types.hpp"

#include <dwarf.h>
#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "symbolize/array_sizes.hpp"
#include "symbolize/called_names.hpp"
#include "symbolize/debug_info.hpp"
#include "symbolize/demangle.hpp"
#include "symbolize/folded_constructors.hpp"
#include "symbolize/object_file.hpp"
#include "symbolize/pointer_variables.hpp"
#include "symbolize/type_names.hpp"

namespace heapwright::symbolize {
namespace {

constexpr int most_instructions = 128;
constexpr int most_unit_layers = 64;
constexpr int first_argument_register = 7;  // rdi
constexpr int result_register = 0;          // rax

// The object's own code; debug files have none.
class Code {
 public:
  explicit Code(Dwfl_Module* module) : elf_(dwfl_module_getelf(module, &bias_)) {
    GElf_Ehdr header;
    if (elf_ != nullptr && (gelf_getehdr(elf_, &header) == nullptr || header.e_machine != EM_X86_64)) {
      elf_ = nullptr;
    }
  }

  bool is_known() const noexcept { return elf_ != nullptr; }
  Elf* elf() const noexcept { return elf_; }

  // The function that is called by the instruction in front of this address.
  CalledFunction called(const CalledNames& names, std::uint64_t return_address) const {
    constexpr std::size_t longest_call = 6;
    const std::span<const std::uint8_t> code = from(return_address - longest_call);
    if (code.size() < longest_call) return {};
    return names.of_call(code.first(longest_call), return_address - bias_,
                         [&](std::uint64_t address) { return from(address + bias_); });
  }

  // An address in the file as libdwfl counts.
  std::uint64_t from_file(std::uint64_t address) const noexcept { return address + bias_; }

  // From this libdwfl address on; empty: there is none.
  std::span<const std::uint8_t> from(std::uint64_t address) const {
    const std::uint64_t wanted = address - bias_;
    std::size_t headers = 0;
    if (elf_getphdrnum(elf_, &headers) != 0) return {};
    for (std::size_t i = 0; i < headers; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD) continue;
      if (wanted < header.p_vaddr || wanted - header.p_vaddr >= header.p_filesz) continue;
      const std::uint64_t inside = wanted - header.p_vaddr;
      std::size_t size = 0;
      const char* const file = elf_rawfile(elf_, &size);
      const std::uint64_t begin = header.p_offset + inside;
      if (file == nullptr || begin < inside || begin >= size) return {};
      const std::uint64_t left = std::min<std::uint64_t>(header.p_filesz - inside, size - begin);
      return {reinterpret_cast<const std::uint8_t*>(file) + begin, left};
    }
    return {};
  }

 private:
  GElf_Addr bias_ = 0;
  Elf* elf_;
};

// Names, without their scopes, of the classes from which another of the same size is derived.
class Bases {
 public:
  bool has(Dwarf_Die& within, Dwarf_Die type) {
    Dwarf_Die unit;
    if (dwarf_diecu(&within, &unit, nullptr, nullptr) == nullptr) return true;
    const auto [entry, is_new] = of_unit_.try_emplace(dwarf_dieoffset(&unit));
    if (is_new) read(unit, entry->second, most_unit_layers);
    return entry->second.contains(own_name(type));
  }

 private:
  using Names = std::unordered_set<std::string>;

  static void read(Dwarf_Die& parent, Names& names, int layers) {
    Dwarf_Die die;
    if (layers == 0 || dwarf_child(&parent, &die) != 0) return;
    const bool is_derived = is_class(parent);
    do {
      const int tag = dwarf_tag(&die);
      if (is_derived && tag == DW_TAG_inheritance) read_base(parent, die, names);
      if (tag == DW_TAG_namespace || tag == DW_TAG_subprogram || is_class(die)) read(die, names, layers - 1);
    } while (dwarf_siblingof(&die, &die) == 0);
  }

  static void read_base(Dwarf_Die& derived, Dwarf_Die& inheritance, Names& names) {
    Dwarf_Die base;
    Dwarf_Word size = 0;
    Dwarf_Word base_size = 0;
    if (!type_of(inheritance, base)) return;
    base = without_typedefs(base);
    const bool differ = dwarf_aggregate_size(&derived, &size) == 0 &&
                        dwarf_aggregate_size(&base, &base_size) == 0 && size != base_size;
    if (!differ) names.insert(own_name(base));
  }

  static Dwarf_Die without_typedefs(Dwarf_Die type) {
    Dwarf_Die inner;
    for (int i = 0; i < most_type_layers && dwarf_tag(&type) == DW_TAG_typedef; ++i) {
      if (!type_of(type, inner)) break;
      type = inner;
    }
    return type;
  }

  std::unordered_map<Dwarf_Off, Names> of_unit_;
};

// Whether a function's first argument is the block's size: malloc's, and every operator new's.
bool takes_size(const std::string& function) {
  return function == "malloc" || function.starts_with("_Znw") || function.starts_with("_Zna");
}

// The class whose objects this symbol's function constructs, as the source writes it: a complete object, not
// a base's part. Empty: of another function, or a template's.
std::string class_constructed_by(const std::string& symbol) {
  if (symbol.find("C1E") == std::string::npos) return {};
  const std::string text = demangle(symbol);
  const std::size_t name = text.rfind("::", text.find('('));
  if (name == std::string::npos || text.find('<') != std::string::npos) return {};
  const std::string of_class = text.substr(0, name);
  const std::size_t own = of_class.rfind("::");
  const std::string expected = (own == std::string::npos ? of_class : of_class.substr(own + 2)) + "(";
  return text.compare(name + 2, expected.size(), expected) == 0 ? of_class : std::string();
}

class AllocatedTypes {
 public:
  explicit AllocatedTypes(Dwfl_Module* module)
      : module_(module), code_(module), debug_info_(module), called_names_(code_.elf()) {
    Dwarf_Addr bias = 0;
    if (dwfl_module_getdwarf(module, &bias) != nullptr) bias_ = bias;
  }

  // return_address: as libdwfl counts.
  std::string of(std::uint64_t return_address) {
    if (!code_.is_known() || debug_info_.is_empty()) return {};
    const std::string called = code_.called(called_names_, return_address).name;
    if (!takes_size(called)) return {};
    Dwarf_Die function;
    if (!debug_info_.function_at(return_address - 1, function)) return {};
    const PointerVariables& variables = variables_of(function);
    const std::uint64_t size_bytes = requested_bytes(variables, return_address);
    std::optional<ArraySizes> array;
    if (called.starts_with("_Zna")) array.emplace(code_before(function, return_address));
    return Following{*this, function, variables, size_bytes, array}.type(return_address);
  }

 private:
  // One pointer, from its call on; of an array, also the pointer to the first element behind a cookie.
  struct Following {
    AllocatedTypes& all;
    Dwarf_Die& function;
    const PointerVariables& variables;
    std::uint64_t size_bytes;  // 0: not known
    const std::optional<ArraySizes>& array;
    PointerCopies copies{};
    PointerCopies behind_cookie = PointerCopies::nowhere();
    bool has_cookie = false;
    std::uint64_t cookie = 0;  // 0: not known
    const Pointee* held = nullptr;
    const Pointee* held_behind_cookie = nullptr;
    bool differ = false;
    Pointee called{};
    std::string made{};
    std::string made_elsewhere{};  // the class whose constructor in another object has got the pointer

    std::string type(std::uint64_t address) {
      Instruction before{};
      for (int i = 0; i < most_instructions && !(copies.is_lost() && behind_cookie.is_lost()); ++i) {
        if (look(address)) return made;
        const Instruction here = decode_x86(all.code_.from(address));
        if (here.length == 0) break;
        std::uint64_t next = address + here.length;
        if (here.flow == Flow::call || here.flow == Flow::call_elsewhere) {
          if (is_given() && !is_made_elsewhere(next)) return of_call(here, address, next);
          copies.pass_call();
          behind_cookie.pass_call();
        } else if (!go_on(here, before, next)) {
          break;
        }
        if (dwarf_haspc(&function, next - all.bias_) <= 0) break;
        before = here;
        address = next;
      }
      return of_held();
    }

    // Whether the block can be one object of this size.
    bool fits(std::uint64_t bytes) const { return size_bytes != 0 && bytes == size_bytes; }

    // Whether it is an array of elements of this size. A number of bytes that is a multiple of it says
    // nothing: `new char[4096]` is used as anything.
    bool fits_elements(std::uint64_t bytes, bool is_behind_cookie) const {
      if (!array || (is_behind_cookie && !has_cookie)) return false;
      if (size_bytes == 0) return array->has(bytes);
      return is_behind_cookie && cookie != 0 && size_bytes - array_cookie_bytes == cookie * bytes;
    }

    std::string array_of(const Pointee& element) const {
      const std::string name = name_of(element);
      return name.empty() ? name : name + "[]";
    }

    bool is_given() const {
      return copies.in_register(first_argument_register) ||
             behind_cookie.in_register(first_argument_register);
    }

    // Whether a constructor that is inlined here says what is made, or that it is not known.
    bool look(std::uint64_t address) {
      const Dwarf_Addr at = address - all.bias_;
      const Pointee* const object =
          variables.constructed(copies, at, [this](std::uint64_t bytes) { return fits(bytes); });
      if (object != nullptr) return take_made(*object, false);
      for (const bool is_behind : {false, true}) {
        const Pointee* const element =
            variables.constructed(is_behind ? behind_cookie : copies, at,
                                  [&](std::uint64_t bytes) { return fits_elements(bytes, is_behind); });
        if (element != nullptr) return take_made(*element, true);
      }
      note(held, variables.held(copies, at));
      note(held_behind_cookie, variables.held(behind_cookie, at));
      return false;
    }

    bool take_made(const Pointee& of, bool is_element) {
      if (!all.is_folded(of)) made = is_element ? array_of(of) : name_of(of);
      return true;
    }

    void note(const Pointee*& known, const Pointee* found) {
      if (found == nullptr) return;
      differ |= known != nullptr && !known->is_as(*found);
      known = found;
    }

    // Whether the call that returns here is of a constructor in another object, the first that gets the
    // pointer, or only sets the block's bytes.
    bool is_made_elsewhere(std::uint64_t next) {
      const CalledFunction through = all.code_.called(all.called_names_, next);
      if (through.name == "memset") return true;
      if (!made_elsewhere.empty()) return false;
      if (through.address == 0) made_elsewhere = class_constructed_by(through.name);
      return !made_elsewhere.empty();
    }

    // The pointer is a call's first argument: a constructor's, or it is not known what becomes of it.
    std::string of_call(const Instruction& call, std::uint64_t address, std::uint64_t next) {
      Dwarf_Die target;
      const CalledFunction through = all.code_.called(all.called_names_, next);
      const bool is_direct = call.flow == Flow::call && through.name.empty();
      const std::uint64_t to =
          is_direct ? next + static_cast<std::uint64_t>(call.branch) : all.code_.from_file(through.address);
      const bool is_constructor = all.debug_info_.function_at(to, target) && constructed_by(target, called);
      if (!is_constructor) return of_held();
      const bool is_behind = behind_cookie.in_register(first_argument_register);
      const auto may_be_whole = [&](std::uint64_t bytes) {
        return fits(bytes) || fits_elements(bytes, is_behind);
      };
      // A base's constructor within that of the class, or one of a member.
      if (variables.is_in_constructor(address - all.bias_, may_be_whole)) return {};
      const bool is_object = fits(called.size_bytes);
      if (is_object || fits_elements(called.size_bytes, is_behind)) take_made(called, !is_object);
      return made;
    }

    // Whether the pointer is followed to `next`, which jumps change.
    bool go_on(const Instruction& here, const Instruction& before, std::uint64_t& next) {
      const std::uint64_t target = next + static_cast<std::uint64_t>(here.branch);
      switch (here.flow) {
        case Flow::next:
          pass(here);
          return true;
        case Flow::jump:
          next = target;
          return true;
        case Flow::jump_if_zero:
        case Flow::jump_if_not_zero:
          return choose(here, before, target, next) || array;
        case Flow::returns:
          if (copies.in_register(result_register)) note(held, variables.returned());
          if (behind_cookie.in_register(result_register)) note(held_behind_cookie, variables.returned());
          return false;
        default:
          // Loops over the elements end, and none of them is jumped over.
          return array && here.branch != 0;
      }
    }

    void pass(const Instruction& here) {
      const bool is_of_block = here.base != no_register && copies.in_register(here.base);
      if (array && is_of_block && here.displacement == 0 && here.stored_bytes == array_cookie_bytes) {
        has_cookie = true;
        cookie = here.sum == Sum::store ? static_cast<std::uint64_t>(here.constant) : 0;
      }
      const bool is_behind = here.sum == Sum::add && here.constant == array_cookie_bytes &&
                             here.summand != no_register && copies.in_register(here.summand);
      copies.pass(here);
      behind_cookie.pass(here);
      if (array && is_behind) behind_cookie.add(here.result);
    }

    // Behind a comparison of the pointer with null, it is followed to where it is none.
    bool choose(const Instruction& here, const Instruction& before, std::uint64_t target,
                std::uint64_t& next) const {
      if (before.tested == no_register || !copies.in_register(before.tested)) return false;
      if (here.flow == Flow::jump_if_not_zero) next = target;
      return true;
    }

    std::string of_held() {
      if (differ) return {};
      const bool is_behind = has_cookie && held_behind_cookie != nullptr;
      if (is_behind) return held == nullptr ? of_held_elements(*held_behind_cookie, true) : std::string();
      if (held == nullptr) return {};
      if (array && held->is_class && held->size_bytes != size_bytes) return of_held_elements(*held, false);
      if (!made_elsewhere.empty()) {
        // Of a class with virtual functions, compilers describe the members in one unit only.
        const bool may_be = held->size_bytes == size_bytes || held->size_bytes == 0;
        return may_be && name_of(*held) == made_elsewhere ? made_elsewhere : std::string();
      }
      if (held->is_class) return fits(held->size_bytes) && is_whole(*held) ? name_of(*held) : std::string();
      if (size_bytes % held->size_bytes != 0) return {};
      return size_bytes == held->size_bytes ? name_of(*held) : array_of(*held);
    }

    std::string of_held_elements(const Pointee& element, bool is_behind) {
      if (!element.is_class || !fits_elements(element.size_bytes, is_behind)) return {};
      if (made_elsewhere.empty()) return is_whole(element) ? array_of(element) : std::string();
      return name_of(element) == made_elsewhere ? array_of(element) : std::string();
    }

    // A pointer to it points to no object of a class that is derived from it.
    bool is_whole(const Pointee& of) { return !of.may_be_a_base && !all.bases_.has(function, of.type); }
  };

  // The code of the function up to the call, of that part of it in which the call is.
  std::span<const std::uint8_t> code_before(Dwarf_Die& function, std::uint64_t return_address) const {
    const Dwarf_Addr end = return_address - bias_;
    Dwarf_Addr base = 0;
    Dwarf_Addr part_begin = 0;
    Dwarf_Addr part_end = 0;
    for (std::ptrdiff_t offset = 0;
         (offset = dwarf_ranges(&function, offset, &base, &part_begin, &part_end)) > 0;) {
      if (end <= part_begin || end > part_end) continue;
      const std::span<const std::uint8_t> code = code_.from(part_begin + bias_);
      return end - part_begin <= code.size() ? code.first(end - part_begin) : std::span<const std::uint8_t>();
    }
    return {};
  }

  const PointerVariables& variables_of(Dwarf_Die& function) {
    std::unique_ptr<PointerVariables>& known = variables_[dwarf_dieoffset(&function)];
    if (known == nullptr) {
      Dwarf_Addr begin = 0;
      std::span<const std::uint8_t> code;
      if (dwarf_lowpc(&function, &begin) == 0) code = code_.from(begin + bias_);
      known = std::make_unique<PointerVariables>(function, code);
    }
    return *known;
  }

  // By DWARF, or by the instruction in front of the call that loads it: mov $SIZE, %edi; call.
  std::uint64_t requested_bytes(const PointerVariables& variables, std::uint64_t return_address) const {
    const std::uint64_t told = variables.first_argument(return_address - bias_);
    if (told != 0) return told;
    constexpr std::size_t load_bytes = 5;
    constexpr std::size_t call_bytes = 5;
    const std::span<const std::uint8_t> code = code_.from(return_address - load_bytes - call_bytes);
    if (code.size() < load_bytes + call_bytes || code[0] != 0xbf || code[load_bytes] != 0xe8) return 0;
    std::uint32_t size = 0;
    std::memcpy(&size, code.data() + 1, sizeof size);
    return size;
  }

  bool is_folded(const Pointee& of) {
    Dwarf_Die type = of.type;
    if (!folded_) folded_.emplace(module_);
    return folded_->has(own_name(type));
  }

  Dwfl_Module* module_;
  std::optional<FoldedConstructors> folded_;  // once a constructor is found
  Code code_;
  DebugInfo debug_info_;
  CalledNames called_names_;
  std::uint64_t bias_ = 0;
  Bases bases_;
  std::unordered_map<Dwarf_Off, std::unique_ptr<PointerVariables>> variables_;
};

}  // namespace

std::vector<std::string> allocated_types(Object& object, std::span<const std::uint64_t> addresses,
                                         const Options& options) {
  std::vector<std::string> found(addresses.size());
  const ObjectFile file = open_object(object, options);
  if (!file) return found;
  AllocatedTypes types(file.module);
  for (std::size_t i = 0; i < addresses.size(); ++i) found[i] = types.of(addresses[i] + file.bias);
  return found;
}

}  // namespace heapwright::symbolize
