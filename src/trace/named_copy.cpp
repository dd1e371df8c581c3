// SPDX-License-Identifier: MIT
#include <algorithm>

#include "trace/chunk_map.hpp"
#include "trace/copies.hpp"
#include "trace/writer.hpp"

namespace heapwright::trace {

namespace {

constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 22U;

void read(const InputFile& file, std::uint64_t offset, std::uint64_t bytes, Bytes& out) {
  out.resize(static_cast<std::size_t>(bytes));
  if (!file.read(offset, out.data(), out.size())) {
    throw TraceError("the trace became shorter while it was copied; do it again when nothing writes to it");
  }
}

bool copy_chunks(const InputFile& file, const Index& index, Writer& writer, const CopyProgress& on_progress) {
  Bytes chunk;
  for (const IndexEntry& entry : index.entries) {
    read(file, entry.file_offset, entry.chunk_bytes, chunk);
    if (!writer.write_copied(entry.header, chunk)) return false;
    on_progress(entry.file_offset, file.bytes());
  }
  return true;
}

bool copy_bytes(const InputFile& file, Writer& writer, const CopyProgress& on_progress) {
  Bytes piece;
  for (std::uint64_t offset = sizeof(FileHeader); offset < file.bytes();) {
    read(file, offset, std::min(piece_bytes, file.bytes() - offset), piece);
    if (!writer.write_copied(piece)) return false;
    offset += piece.size();
    on_progress(offset, file.bytes());
  }
  return true;
}

}  // namespace

int write_named_copy(const Reader& reader, const EmbeddedNames& names, const std::string& path,
                     const CopyProgress& on_progress) {
  const InputFile& file = reader.file();
  int error = 0;
  const auto writer = Writer::create(path, false, error);
  if (writer == nullptr) return error;
  const std::optional<Index> index = read_index(file);
  if (reader.names() == nullptr) writer->write(names);
  const bool is_copied =
      index ? copy_chunks(file, *index, *writer, on_progress) : copy_bytes(file, *writer, on_progress);
  writer->finish_copy(index && is_copied);
  return writer->error_number();
}

}  // namespace heapwright::trace
