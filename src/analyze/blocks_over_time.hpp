// SPDX-License-Identifier: MIT
// The live blocks of a short time, at any moment of it: those at its begin,
// and what changed since.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heapwright::analyze {

struct LiveBlock {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t usable = 0;
  std::uint32_t stack = 0;
  std::uint64_t born_ns = 0;

  std::uint64_t end() const noexcept { return address + usable; }
};

// A block came to live or died.
struct BlockChange {
  LiveBlock block;  // of one that dies, only the address is known
  std::uint64_t time_ns = 0;
  std::uint64_t call_begin_ns = 0;
  std::uint64_t call_end_ns = 0;
  bool is_alive = false;
};

class BlocksOverTime {
 public:
  void clear();
  // Makes room. Blocks are kept in 24 bytes each, their births to 1 ms.
  void reserve(std::size_t blocks) { blocks_.reserve(blocks); }
  void add(const LiveBlock& block);
  void add(const BlockChange& change) { changes_.push_back(change); }
  // After the last add.
  void sort();

  // The blocks that lived at `time_ns` and have a byte in [begin, end), by address.
  void live_in(std::uint64_t begin, std::uint64_t end, std::uint64_t time_ns,
               std::vector<LiveBlock>& result) const;
  // Usable bytes in [begin, end) of blocks whose call overlaps [from_ns, to_ns].
  std::uint64_t uncertain_bytes(std::uint64_t begin, std::uint64_t end, std::uint64_t from_ns,
                                std::uint64_t to_ns) const;

 private:
  using Changes = std::span<const BlockChange>;
  // Of one address, or of addresses in [begin, end) and of large blocks that reach into it.
  Changes changes_at(std::uint64_t address) const;
  std::size_t first_change(std::uint64_t address) const;
  template <typename Visit>
  void visit_changed(std::uint64_t begin, std::uint64_t end, Visit visit) const;

  struct Kept {
    std::uint64_t address;
    std::uint32_t size;  // or a place in wide_
    std::uint32_t stack;
    std::uint32_t born;  // in units of 2^20 ns
    std::uint16_t excess;
    bool is_wide;
  };
  static_assert(sizeof(Kept) == 24);
  LiveBlock block_of(const Kept& kept) const noexcept;

  // Of the block that begins here; 0 = none does.
  std::uint64_t usable_at(std::uint64_t address) const;

  std::vector<Kept> blocks_;          // by address
  std::vector<LiveBlock> wide_;       // what does not fit
  std::vector<BlockChange> changes_;  // by address, then as they came
  std::vector<std::uint64_t> large_;  // addresses at which large blocks came to live
};

}  // namespace heapwright::analyze
