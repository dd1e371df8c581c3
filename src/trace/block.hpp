// SPDX-License-Identifier: MIT
// A run of bytes as stored in a payload: uncompressed, as one repeated byte, or as one zstd frame, whichever
// is smallest.
//
//   encoding u8 | raw bytes varint | raw: the bytes
//                                  | fill: the byte
//                                  | zstd: stored bytes varint, one frame
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/varint.hpp"

namespace heapwright::trace {

enum class BlockEncoding : std::uint8_t { raw = 0, fill = 1, zstd = 2 };

// thorough: for texts, which are written once and repetitive.
enum class Packing : std::uint8_t { quick, thorough };

class BlockPacker {
 public:
  explicit BlockPacker(Packing packing = Packing::quick);
  ~BlockPacker();
  BlockPacker(const BlockPacker&) = delete;
  BlockPacker& operator=(const BlockPacker&) = delete;

  // Appends `bytes` to `out` as one block.
  void pack(std::span<const std::uint8_t> bytes, std::vector<std::uint8_t>& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class BlockUnpacker {
 public:
  BlockUnpacker();
  ~BlockUnpacker();
  BlockUnpacker(const BlockUnpacker&) = delete;
  BlockUnpacker& operator=(const BlockUnpacker&) = delete;

  // Reads one block. The result is in `source`'s bytes or in `memory`, which grows to at most max_bytes.
  // Throws TraceError.
  std::span<const std::uint8_t> unpack(base::ByteSource& source, std::size_t max_bytes,
                                       std::vector<std::uint8_t>& memory);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heapwright::trace
