// SPDX-License-Identifier: MIT
// The live blocks at any time of a short interval: those at its begin, and the changes since.
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

// A block was allocated or freed.
struct BlockChange {
  LiveBlock block;  // of a freed block, only the address is known
  std::uint64_t time_ns = 0;
  std::uint64_t call_begin_ns = 0;
  std::uint64_t call_end_ns = 0;
  bool is_alive = false;
};

class BlocksOverTime {
 public:
  void clear();
  // Reserves space. Each block takes 24 bytes; allocation times are kept to 1 ms.
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
  // Changes of one address, or of addresses in [begin, end) and of large blocks that reach into it.
  Changes changes_at(std::uint64_t address) const;
  std::size_t first_change(std::uint64_t address) const;
  template <typename Visit>
  void visit_changed(std::uint64_t begin, std::uint64_t end, Visit visit) const;

  struct Kept {
    std::uint64_t address;
    std::uint32_t size;  // or an index into wide_
    std::uint32_t stack;
    std::uint32_t born;  // in units of 2^20 ns
    std::uint16_t excess;
    bool is_wide;
  };
  static_assert(sizeof(Kept) == 24);
  LiveBlock block_of(const Kept& kept) const noexcept;

  // Usable size of the block that begins here; 0 = none does.
  std::uint64_t usable_at(std::uint64_t address) const;

  std::vector<Kept> blocks_;          // by address
  std::vector<LiveBlock> wide_;       // what does not fit
  std::vector<BlockChange> changes_;  // by address, then in order of arrival
  std::vector<std::uint64_t> large_;  // addresses at which large blocks were allocated
};

}  // namespace heapwright::analyze
