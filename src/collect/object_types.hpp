// SPDX-License-Identifier: MIT
// The class of an object with virtual functions, by its first word: the address of its class's table of them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/live_heap.hpp"
#include "collect/process_image.hpp"

namespace heapwright::collect {

class ObjectTypes {
 public:
  // The image outlives this.
  explicit ObjectTypes(const ProcessImage& image);

  // Of an object that begins with this word: 0 = not known, else 1 + its place in names().
  std::uint32_t of(std::uint64_t first_word);
  const std::vector<std::string>& names() const noexcept { return names_; }

 private:
  struct Module {
    AddressRange range;
    const ModuleVariables* variables = nullptr;
    std::uint64_t bias = 0;
  };

  std::uint32_t find(std::uint64_t first_word, const Module& module);

  std::vector<Module> modules_;                               // by address
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // by first word, of words in modules
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<std::string> names_;
};

}  // namespace heapwright::collect
