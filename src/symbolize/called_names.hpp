// SPDX-License-Identifier: MIT
// Which functions of other objects an x86-64 object calls, by the relocations of the places that it calls
// through.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

namespace heapwright::symbolize {

class CalledNames {
 public:
  explicit CalledNames(Elf* elf);

  // The function whose call ends `code`, at this address in the file; empty: not known. `stub_at` has the
  // code at an address.
  template <typename CodeAt>
  std::string of_call(std::span<const std::uint8_t> code, std::uint64_t return_address,
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
  std::string of_stub(std::span<const std::uint8_t> code, std::uint64_t address) const;
  std::string at(std::uint64_t place) const;

  std::unordered_map<std::uint64_t, std::string> names_;
};

}  // namespace heapwright::symbolize
