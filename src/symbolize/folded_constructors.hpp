// SPDX-License-Identifier: MIT
// Constructors of several classes that are one code: compilers and linkers fold functions with equal code,
// and calls, also inlined ones, then have the name of any of them.
#pragma once

#include <elfutils/libdwfl.h>

#include <string>
#include <unordered_set>

namespace heapwright::symbolize {

class FoldedConstructors {
 public:
  // Reads the object's symbols, once.
  explicit FoldedConstructors(Dwfl_Module* module);

  // name: of a class, without its scopes.
  bool has(const std::string& name) const { return classes_.contains(name.substr(0, name.find('<'))); }

 private:
  std::unordered_set<std::string> classes_;  // without scopes and template arguments
};

}  // namespace heapwright::symbolize
