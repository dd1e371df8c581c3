// SPDX-License-Identifier: MIT
// Which functions an x86-64 object calls through places that the dynamic linker fills, by their relocations:
// of other objects, and its own ones that others may replace.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

namespace heapwright::symbolize {

struct CalledFunction {
  std::string name;           // empty: not known
  std::uint64_t address = 0;  // in the object's file; 0: in another object
};

class CalledNames {
 public:
  explicit CalledNames(Elf* elf);

  // The function whose call ends `code`, at this address in the file. `stub_at` has the code at an address.
  template <typename CodeAt>
  CalledFunction of_call(std::span<const std::uint8_t> code, std::uint64_t return_address,
                         const CodeAt& stub_at) const {
    constexpr std::size_t direct_bytes = 5;
    const std::size_t size = code.size();
    if (size > direct_bytes && code[size - 6] == 0xff && code[size - 5] == 0x15) {
      return at(return_address + distance(code.last(4)));
    }
    if (size < direct_bytes || code[size - direct_bytes] != 0xe8) return {};
    const std::uint64_t target = return_address + distance(code.last(4));
    return of_stub(stub_at(target), target);
  }

 private:
  static std::uint64_t distance(std::span<const std::uint8_t> bytes);
  // Of the procedure linkage table.
  CalledFunction of_stub(std::span<const std::uint8_t> code, std::uint64_t address) const;
  CalledFunction at(std::uint64_t place) const;

  std::unordered_map<std::uint64_t, CalledFunction> functions_;
};

}  // namespace heapwright::symbolize
