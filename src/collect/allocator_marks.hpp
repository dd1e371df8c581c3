// SPDX-License-Identifier: MIT
// Recognises an allocator inside a program file: by the names of its functions, in any symbol table and with
// any prefix, and by texts that it keeps among its constants, which stripping leaves in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace heapwright::collect {

class AllocatorMarks {
 public:
  // Whether a function of this name is an allocator's, so that see_definition() is worth a look at its code.
  static bool is_public_name(std::string_view symbol);

  // A symbol that the file defines. is_wrapper: a function that calls malloc, found by name, of another
  // library.
  void see_definition(std::string_view symbol, bool is_wrapper);
  // A piece of the file as it is loaded. Pieces overlap by `overlap` bytes.
  void see_bytes(std::string_view bytes);
  static constexpr std::size_t overlap = 64;

  // "jemalloc", ...; empty: none found.
  std::string allocator() const;
  // What else keeps blocks of its own inside, by name: "Python", ...; empty: none found.
  std::string runtime() const;

 private:
  std::set<std::size_t> names_;  // indices of name patterns
  std::string by_name_;          // a name that is enough alone
  std::string by_text_;
  std::size_t runtime_ = ~std::size_t{0};  // index of the runtime's mark
};

}  // namespace heapwright::collect
