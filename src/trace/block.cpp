// SPDX-License-Identifier: MIT
#include "trace/block.hpp"

// For ZSTD_c_literalCompressionMode, which the shared library also has.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "trace/damage.hpp"

namespace heapwright::trace {

namespace {

// The output of the predictors is bytes of low entropy with few repetitions: Huffman codes shorten them,
// searching for short matches finds nothing. Compared to level 1, this halves the encoding time, takes a
// quarter off decoding and costs 3 % of size.
constexpr int search_acceleration = -20;
constexpr int min_match_bytes = 7;
constexpr int thorough_level = 12;
// Below this, a zstd frame's header costs more than it saves.
constexpr std::size_t min_compressed_bytes = 24;

void append_varint(std::vector<std::uint8_t>& out, std::uint64_t value) {
  std::uint8_t bytes[base::max_varint_bytes];
  out.insert(out.end(), bytes, base::put_varint(bytes, value));
}

bool is_one_byte_repeated(std::span<const std::uint8_t> bytes) noexcept {
  return bytes.size() > 1 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace

struct BlockPacker::State {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::vector<std::uint8_t> frame;
  explicit State(Packing packing) {
    if (context == nullptr) throw std::bad_alloc();
    if (packing == Packing::thorough) {
      ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, thorough_level);
      return;
    }
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, search_acceleration);
    ZSTD_CCtx_setParameter(context, ZSTD_c_minMatch, min_match_bytes);
    // An older zstd without this parameter stores more literals uncompressed.
    ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
  }
  ~State() { ZSTD_freeCCtx(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

BlockPacker::BlockPacker(Packing packing) : state_(std::make_unique<State>(packing)) {}
BlockPacker::~BlockPacker() = default;

void BlockPacker::pack(std::span<const std::uint8_t> bytes, std::vector<std::uint8_t>& out) {
  const auto put_head = [&](BlockEncoding encoding) {
    out.push_back(static_cast<std::uint8_t>(encoding));
    append_varint(out, bytes.size());
  };
  if (is_one_byte_repeated(bytes)) {
    put_head(BlockEncoding::fill);
    out.push_back(bytes.front());
    return;
  }
  if (bytes.size() >= min_compressed_bytes) {
    state_->frame.resize(std::max(state_->frame.size(), ZSTD_compressBound(bytes.size())));
    const std::size_t stored = ZSTD_compress2(state_->context, state_->frame.data(), state_->frame.size(),
                                              bytes.data(), bytes.size());
    if (ZSTD_isError(stored) == 0 && stored < bytes.size()) {
      put_head(BlockEncoding::zstd);
      append_varint(out, stored);
      out.insert(out.end(), state_->frame.begin(),
                 state_->frame.begin() + static_cast<std::ptrdiff_t>(stored));
      return;
    }
  }
  put_head(BlockEncoding::raw);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

struct BlockUnpacker::State {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  State() {
    if (context == nullptr) throw std::bad_alloc();
  }
  ~State() { ZSTD_freeDCtx(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

BlockUnpacker::BlockUnpacker() : state_(std::make_unique<State>()) {}
BlockUnpacker::~BlockUnpacker() = default;

std::span<const std::uint8_t> BlockUnpacker::unpack(base::ByteSource& source, std::size_t max_bytes,
                                                    std::vector<std::uint8_t>& memory) {
  const auto encoding = static_cast<BlockEncoding>(source.byte());
  const std::uint64_t raw_bytes = source.varint();
  if (source.has_failed() || raw_bytes > max_bytes) throw TraceError("a block has an impossible length");
  const auto bytes = static_cast<std::size_t>(raw_bytes);
  if (encoding == BlockEncoding::raw) {
    const std::uint8_t* stored = source.take(bytes);
    if (source.has_failed()) throw TraceError("a block is cut short");
    return {stored, bytes};
  }
  if (memory.size() < bytes) memory.resize(bytes);
  if (encoding == BlockEncoding::fill) {
    std::fill_n(memory.begin(), bytes, source.byte());
    if (source.has_failed()) throw TraceError("a block is cut short");
    return {memory.data(), bytes};
  }
  if (encoding != BlockEncoding::zstd) throw TraceError("a block has an unknown encoding");
  const std::uint64_t stored_bytes = source.varint();
  if (stored_bytes > source.remaining()) throw TraceError("a block is cut short");
  const std::uint8_t* stored = source.take(static_cast<std::size_t>(stored_bytes));
  const std::size_t result = ZSTD_decompressDCtx(state_->context, memory.data(), bytes, stored,
                                                 static_cast<std::size_t>(stored_bytes));
  if (ZSTD_isError(result) != 0 || result != bytes) throw TraceError("a block does not decompress");
  return {memory.data(), bytes};
}

}  // namespace heapwright::trace
