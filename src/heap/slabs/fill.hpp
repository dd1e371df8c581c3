// SPDX-License-Identifier: MIT
// Hardened mode: the contents of a slab block's unused bytes. A free block holds zeros up to its
// record, except for its link. The slack of a live block, from the requested bytes to the record,
// is filled. Every call checks both, so this code is nearly branch-free: branches on the size would
// be mispredicted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heapwright::heap {

inline constexpr unsigned char slack_fill = 0xF5;

// Whether all bytes equal `fill`.
inline bool is_filled(const char* begin, std::size_t bytes, unsigned char fill) noexcept {
  const std::uint64_t word = 0x0101010101010101U * fill;
  std::uint64_t differing = 0;
  for (; bytes >= sizeof word; begin += sizeof word, bytes -= sizeof word) {
    std::uint64_t found = 0;
    std::memcpy(&found, begin, sizeof found);
    differing |= found ^ word;
  }
  for (; bytes != 0; ++begin, --bytes) differing |= static_cast<unsigned char>(*begin) ^ fill;
  return differing == 0;
}

using FillPair [[gnu::vector_size(16)]] = std::uint64_t;
inline constexpr std::uint64_t slack_word = 0x0101010101010101U * slack_fill;

// A mask of the last `bytes` bytes of a word; all bytes from 8 on. Two shifts, because a shift by 64 is
// undefined.
constexpr std::uint64_t last_bytes(std::size_t bytes) noexcept {
  const std::size_t half = 4 * std::min(bytes, sizeof(std::uint64_t));
  return ~(~std::uint64_t{0} >> half >> half);
}

// The slack of a block with `bytes` requested of `room`, a multiple of 8. The masks select it in the last
// two words (the same word twice if there is only one); if it is longer, it also covers `begin` to `end`,
// in steps of 16 bytes that may exceed `end`.
struct Slack {
  Slack(char* block, std::size_t bytes, std::size_t room) noexcept
      : begin(block + bytes),
        end(block + room - std::min(room, sizeof(FillPair))),
        last(block + room - sizeof(std::uint64_t)),
        mask_of_last(last_bytes(room - bytes)),
        mask_at_end(last_bytes(room - bytes - std::min(room - bytes, sizeof(std::uint64_t)))) {}

  char* begin;
  char* end;
  char* last;
  std::uint64_t mask_of_last;
  std::uint64_t mask_at_end;
};

// Checks the slack of a slab's block with `room` up to its record.
[[gnu::always_inline]] inline bool is_slack_whole(char* block, std::size_t bytes, std::size_t room) noexcept {
  const Slack slack(block, bytes, room);
  std::uint64_t last = 0;
  std::uint64_t before = 0;
  std::memcpy(&last, slack.last, sizeof last);
  std::memcpy(&before, slack.end, sizeof before);
  FillPair differing = {(last ^ slack_word) & slack.mask_of_last, (before ^ slack_word) & slack.mask_at_end};
  for (const char* at = slack.begin; at < slack.end; at += sizeof(FillPair)) {
    FillPair found;
    std::memcpy(&found, at, sizeof found);
    differing |= found ^ slack_word;
  }
  return (differing[0] | differing[1]) == 0;
}

// Fills the slack of a block that holds zeros.
[[gnu::always_inline]] inline void fill_slack(char* block, std::size_t bytes, std::size_t room) noexcept {
  const Slack slack(block, bytes, room);
  const std::uint64_t before = slack_word & slack.mask_at_end;
  const std::uint64_t last = slack_word & slack.mask_of_last;
  std::memcpy(slack.end, &before, sizeof before);
  std::memcpy(slack.last, &last, sizeof last);
  constexpr FillPair filled = {slack_word, slack_word};
  for (char* at = slack.begin; at < slack.end; at += sizeof filled) std::memcpy(at, &filled, sizeof filled);
}

// Whether a free block holds zeros between its link and its record. `usable` and the address are multiples
// of 16.
[[gnu::always_inline]] inline bool is_zero_behind_link(const char* begin, std::size_t usable) noexcept {
  if (usable == sizeof(FillPair)) return true;
  // Loads the words next to just-written ones separately: a wider load would wait for the store.
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  const char* const end = begin + usable - sizeof(FillPair);
  std::memcpy(&first, begin + sizeof first, sizeof first);
  std::memcpy(&last, end, sizeof last);
  FillPair found = {first, last};
  for (const char* at = begin + sizeof(FillPair); at != end; at += sizeof(FillPair)) {
    FillPair next;
    std::memcpy(&next, at, sizeof next);
    found |= next;
  }
  return (found[0] | found[1]) == 0;
}

}  // namespace heapwright::heap
