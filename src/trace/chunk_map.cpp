// SPDX-License-Identifier: MIT
#include "trace/chunk_map.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace heapwright::trace {

namespace {

constexpr std::size_t window_bytes = std::size_t{1} << 20U;

bool is_valid(const ChunkHeader& header) noexcept {
  return header.magic == chunk_magic && crc_matches(header.header_crc, crc_of(header)) &&
         header.header_bytes >= sizeof header && header.payload_bytes <= max_payload_bytes;
}

std::optional<ChunkHeader> read_header(const InputFile& file, std::uint64_t offset) {
  ChunkHeader header;
  if (!file.read(offset, &header, sizeof header) || !is_valid(header)) return std::nullopt;
  return header;
}

IndexEntry entry_of(const ChunkHeader& header, std::uint64_t offset) noexcept {
  return {offset, std::uint64_t{header.header_bytes} + header.payload_bytes, header};
}

bool is_index(const ChunkHeader& header) noexcept {
  return header.kind == static_cast<std::uint16_t>(ChunkKind::index);
}

// The next offset at or after `offset` with a valid header; the end of the file if there is none.
std::uint64_t find_header(const InputFile& file, std::uint64_t offset) {
  const std::uint64_t rest = file.bytes() - std::min(offset, file.bytes());
  std::vector<std::uint8_t> window(static_cast<std::size_t>(std::min<std::uint64_t>(window_bytes, rest)));
  const auto* magic = reinterpret_cast<const std::uint8_t*>(&chunk_magic);
  while (offset + sizeof(ChunkHeader) <= file.bytes()) {
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(window.size(), file.bytes() - offset));
    if (!file.read(offset, window.data(), bytes)) break;
    const auto end = window.begin() + static_cast<std::ptrdiff_t>(bytes);
    for (auto at = window.begin();; ++at) {
      at = std::search(at, end, magic, magic + sizeof chunk_magic);
      if (at == end) break;
      const auto place = offset + static_cast<std::uint64_t>(at - window.begin());
      if (read_header(file, place)) return place;
    }
    // Windows overlap by a magic less one byte, so that none is missed at the boundary.
    offset += bytes > sizeof chunk_magic ? bytes - (sizeof chunk_magic - 1) : bytes;
  }
  return file.bytes();
}

std::optional<Footer> read_footer(const InputFile& file) {
  Footer footer;
  if (file.bytes() < sizeof(FileHeader) + sizeof footer) return std::nullopt;
  if (!file.read(file.bytes() - sizeof footer, &footer, sizeof footer)) return std::nullopt;
  if (footer.magic != footer_magic || !crc_matches(footer.crc, crc_of(footer))) return std::nullopt;
  return footer;
}

bool lie_apart(const std::vector<IndexEntry>& entries, std::uint64_t end) noexcept {
  std::uint64_t last_end = sizeof(FileHeader);
  for (const IndexEntry& entry : entries) {
    const bool fits = entry.file_offset >= last_end && entry.file_offset < end &&
                      entry.chunk_bytes >= sizeof(ChunkHeader) &&
                      entry.chunk_bytes <= end - entry.file_offset;
    if (!fits) return false;
    last_end = entry.file_offset + entry.chunk_bytes;
  }
  return true;
}

std::vector<IndexEntry> scan(const InputFile& file, std::vector<Damage>& damage) {
  std::vector<IndexEntry> entries;
  std::uint64_t offset = sizeof(FileHeader);
  const std::uint64_t end = file.bytes();
  bool is_after_end = false;
  while (offset < end) {
    const std::optional<ChunkHeader> header = read_header(file, offset);
    if (header && entry_of(*header, offset).chunk_bytes <= end - offset) {
      if (!is_index(*header)) entries.push_back(entry_of(*header, offset));
      is_after_end |= is_index(*header) || header->kind == static_cast<std::uint16_t>(ChunkKind::end);
      offset += std::uint64_t{header->header_bytes} + header->payload_bytes;
      continue;
    }
    const std::uint64_t next = find_header(file, offset + 1);
    // After the end mark there are only index and footer: their loss does no harm. What is being written is
    // not whole yet.
    if ((is_after_end || file.is_being_written()) && next == end) break;
    const std::string length = std::to_string(next - offset) + " bytes ";
    damage.push_back(
        {offset, next == end ? length + "at the end are not a whole chunk: the file was cut or damaged there"
                             : length + "are unreadable and were skipped"});
    offset = next;
  }
  return entries;
}

}  // namespace

void require_readable(const InputFile& file, const std::string& path) {
  FileHeader header;
  if (file.bytes() == 0) throw TraceError(path + " is empty: nothing was recorded; record again");
  const bool is_long_enough = file.read(0, &header, sizeof header);
  if (!is_long_enough || header.magic != file_magic) {
    throw TraceError(path + " is not a heapwright trace; make one with: heapwright record -- PROGRAM");
  }
  if (header.byte_order != byte_order_mark) {
    throw TraceError(path + " has another byte order; read it on a machine like the one that recorded it");
  }
  if (header.version != format_version) {
    throw TraceError(path + " has trace format version " + std::to_string(header.version) +
                     ", this heapwright reads version " + std::to_string(format_version) +
                     "; use a heapwright as new as the recorder");
  }
  const bool is_intact = crc_matches(header.crc, crc_of(header)) && header.header_bytes == sizeof header &&
                         header.time_quantum_ns == time_quantum_ns &&
                         header.duration_quantum_ns == duration_quantum_ns;
  if (!is_intact) {
    throw TraceError(path + " has a damaged file header; copy it again from where it was recorded");
  }
}

std::optional<Index> read_index(const InputFile& file) {
  const std::optional<Footer> footer = read_footer(file);
  if (!footer || footer->index_offset > file.bytes()) return std::nullopt;
  const std::optional<ChunkHeader> header = read_header(file, footer->index_offset);
  if (!header || !is_index(*header)) return std::nullopt;
  // Every chunk has at least a header, which bounds the count.
  if (header->count > file.bytes() / sizeof(ChunkHeader)) return std::nullopt;
  const IndexEntry entry = entry_of(*header, footer->index_offset);
  if (entry.chunk_bytes > file.bytes() - entry.file_offset) return std::nullopt;
  try {
    std::vector<std::uint8_t> chunk;
    std::vector<std::uint8_t> records;
    const auto payload = read_chunk(file, entry, chunk);
    base::ByteSource source(payload.data(), payload.size());
    constexpr std::uint64_t max_entry_bytes = 512;  // 8 numbers, and room for a later version's
    const std::uint64_t most = std::min<std::uint64_t>(max_index_bytes, header->count * max_entry_bytes);
    const auto unpacked = BlockUnpacker().unpack(source, static_cast<std::size_t>(most), records);
    auto entries = decode_index({unpacked.data(), unpacked.size()}, header->count);
    if (lie_apart(entries, footer->index_offset)) return Index{footer->index_offset, std::move(entries)};
  } catch (const TraceError&) {
    // A bad index does no harm: the chunks hold the same facts.
  }
  return std::nullopt;
}

std::vector<IndexEntry> find_chunks(const InputFile& file, std::vector<Damage>& damage) {
  if (auto index = read_index(file)) return std::move(index->entries);
  return scan(file, damage);
}

std::span<const std::uint8_t> read_chunk(const InputFile& file, const IndexEntry& entry,
                                         std::vector<std::uint8_t>& memory) {
  constexpr std::uint64_t max_chunk_bytes = std::uint64_t{max_payload_bytes} + UINT16_MAX;
  if (entry.chunk_bytes < sizeof(ChunkHeader) || entry.chunk_bytes > max_chunk_bytes ||
      entry.file_offset > file.bytes() || entry.chunk_bytes > file.bytes() - entry.file_offset) {
    throw TraceError("a chunk lies outside the file");
  }
  const auto bytes = static_cast<std::size_t>(entry.chunk_bytes);
  if (memory.size() < bytes) memory.resize(bytes);
  if (!file.read(entry.file_offset, memory.data(), bytes)) throw TraceError("a chunk cannot be read");
  ChunkHeader header;
  std::memcpy(&header, memory.data(), sizeof header);
  const ChunkHeader& wanted = entry.header;
  const bool is_same =
      is_valid(header) && header.header_bytes + std::uint64_t{header.payload_bytes} == bytes &&
      header.kind == wanted.kind && header.count == wanted.count && header.thread == wanted.thread &&
      header.first == wanted.first && header.first_begin_ns == wanted.first_begin_ns &&
      header.last_end_ns == wanted.last_end_ns;
  if (!is_same) throw TraceError("a chunk's header is damaged");
  const std::uint8_t* body = memory.data() + sizeof header;
  if (!crc_matches(header.payload_crc, base::crc32c(body, bytes - sizeof header))) {
    throw TraceError("a chunk's content is damaged");
  }
  return {memory.data() + header.header_bytes, header.payload_bytes};
}

}  // namespace heapwright::trace
