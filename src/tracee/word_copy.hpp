// SPDX-License-Identifier: MIT
// The words of a process's memory that can be addresses in it, copied so that the process can resume before
// they are looked at. Most words are none: the copy is a fraction of the memory.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace heapwright::tracee {

// Returns the number of bytes that could be read.
std::size_t read_memory(pid_t process, std::uint64_t address, void* to, std::size_t bytes) noexcept;

class WordCopy {
 public:
  static constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

  struct Range {
    std::uint64_t begin = 0;  // multiples of a word
    std::uint64_t end = 0;
  };
  struct Wish {
    Range values;                           // words outside are not kept
    std::uint64_t step_bytes = word_bytes;  // between places where a word may begin: word_bytes or 1
  };

  // What the words in these ranges will take, from a sample of them; the process may run.
  static std::uint64_t expected_bytes(pid_t process, std::span<const Range> memory, const Wish& wish);

  // Reserves this much memory and touches it, which takes time: before the process is stopped. Up to
  // `most_bytes` are used, but more slowly.
  WordCopy(std::uint64_t expected_bytes, std::uint64_t most_bytes);
  ~WordCopy();
  WordCopy(const WordCopy&) = delete;
  WordCopy& operator=(const WordCopy&) = delete;

  // Adds the words of this memory, of which there are none yet. The ranges are disjoint, by address. What
  // cannot be read is left out. False: there is not enough memory.
  bool take(pid_t process, std::span<const Range> memory, const Wish& wish);

  // Forgets the words that do not lie in these ranges, which are disjoint, by address.
  void keep_only(std::span<const Range> memory);

  // How many there are.
  std::uint64_t words() const noexcept {
    std::uint64_t count = 0;
    for (const Piece& piece : pieces_) count += piece.count;
    return count;
  }

  // Calls visit(address, word) for the words that lie in the range, by address.
  template <typename Visit>
  void visit(std::uint64_t begin, std::uint64_t end, const Visit& visit) const {
    auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), begin,
                                  [](std::uint64_t at, const Piece& one) { return at < one.begin; });
    if (piece != pieces_.begin()) --piece;
    for (; piece != pieces_.end() && piece->begin < end; ++piece) {
      const std::uint16_t* const last = piece->places + piece->count;
      const std::uint16_t* at = piece->place_of(begin);
      for (; at != last && piece->base + *at + word_bytes <= end; ++at) {
        visit(piece->base + *at, piece->words[at - piece->places]);
      }
    }
  }

 private:
  static constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 16U;  // a place fits 16 bits

  struct Area {
    std::byte* begin = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t used = 0;
  };
  struct Piece {
    std::uint64_t begin = 0;
    std::uint64_t base = 0;  // of the places
    std::uint32_t count = 0;
    const std::uint64_t* words = nullptr;
    const std::uint16_t* places = nullptr;

    // The first that is not before this address.
    const std::uint16_t* place_of(std::uint64_t address) const {
      if (address <= base) return places;
      return std::lower_bound(places, places + count, address - base);
    }
  };
  class Reader;

  bool add_area(std::uint64_t bytes);
  std::byte* next_slice();

  std::mutex mutex_;
  std::uint64_t most_bytes_;
  std::vector<Area> areas_;
  std::vector<Piece> pieces_;  // by address
};

}  // namespace heapwright::tracee
