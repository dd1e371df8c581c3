// SPDX-License-Identifier: MIT
#include "trace/names.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "trace/put_fields.hpp"
#include "trace/record_fields.hpp"

namespace heapwright::trace {

namespace {

// A chunk is closed at this size; the most that one frame can add keeps it below max_table_bytes.
constexpr std::size_t full_chunk_bytes = std::size_t{1} << 20U;
static_assert(full_chunk_bytes + 2 * max_locations_per_frame * (max_text_bytes + 16) <= max_table_bytes);

// The texts of one chunk, without duplicates; 0 is the empty one, which is not stored.
class ChunkTexts {
 public:
  explicit ChunkTexts(const std::vector<std::string>& strings) : strings_(strings) {}

  std::uint32_t number_of(std::uint32_t string) {
    const std::string& text = strings_[string];
    if (text.empty()) return 0;
    const auto [entry, is_new] =
        numbers_.try_emplace(string, static_cast<std::uint32_t>(numbers_.size() + 1));
    if (is_new) put_text(bytes_, text);
    return entry->second;
  }
  std::size_t count() const noexcept { return numbers_.size(); }
  const Bytes& bytes() const noexcept { return bytes_; }

 private:
  const std::vector<std::string>& strings_;
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
  Bytes bytes_;
};

std::uint32_t text_number(base::ByteSource& source, std::size_t texts) {
  const std::uint64_t number = source.varint();
  require(!source.has_failed(), "a record is cut short");
  require(number <= texts, "a frame has a name that does not exist");
  return static_cast<std::uint32_t>(number);
}

Location location_of(base::ByteSource& source, std::size_t texts) {
  Location location;
  location.function = text_number(source, texts);
  location.file = text_number(source, texts);
  const std::uint64_t line_and_flag = source.varint();
  require(line_and_flag >> 33U == 0, "a frame lies on an impossible line");
  location.line = static_cast<std::uint32_t>(line_and_flag >> 1U);
  location.is_inlined = static_cast<std::uint32_t>(line_and_flag & 1U);
  return location;
}

}  // namespace

std::uint32_t encode_names(const Names& names, std::uint32_t first, Bytes& out) {
  const std::size_t frames = names.first_location.empty() ? 0 : names.first_location.size() - 1;
  constexpr std::size_t most_texts = max_records_per_chunk - 2 * max_locations_per_frame;
  ChunkTexts texts(names.strings);
  Bytes rows;
  std::uint32_t frame = first;
  while (frame < frames && frame - first < max_records_per_chunk && texts.count() <= most_texts &&
         texts.bytes().size() + rows.size() < full_chunk_bytes) {
    const std::uint32_t begin = names.first_location[frame];
    const std::uint32_t count = std::min(names.first_location[frame + 1] - begin, max_locations_per_frame);
    put(rows, count);
    for (std::uint32_t i = begin; i < begin + count; ++i) {
      const Location& location = names.locations[i];
      put(rows, texts.number_of(location.function));
      put(rows, texts.number_of(location.file));
      put(rows, std::uint64_t{location.line} << 1U | (location.is_inlined != 0 ? 1U : 0U));
    }
    ++frame;
  }
  put(out, texts.count());
  out.insert(out.end(), texts.bytes().begin(), texts.bytes().end());
  out.insert(out.end(), rows.begin(), rows.end());
  return frame - first;
}

Names decode_names(base::ByteSource source, std::uint32_t count) {
  const std::uint64_t texts = source.varint();
  require(texts <= max_records_per_chunk && texts <= source.remaining(), "it claims too many names");
  Names names;
  names.strings.reserve(static_cast<std::size_t>(texts) + 1);
  names.strings.emplace_back();
  for (std::uint64_t i = 0; i < texts; ++i) {
    const std::string_view text = source.text();
    require(!source.has_failed() && text.size() <= max_text_bytes, "a record is cut short");
    names.strings.emplace_back(text);
  }
  require_count(source, count);
  names.first_location.reserve(std::size_t{count} + 1);
  names.first_location.push_back(0);
  for (std::uint32_t frame = 0; frame < count; ++frame) {
    const std::uint64_t locations = source.varint();
    require(locations <= max_locations_per_frame, "a frame has more locations than any recorder's");
    for (std::uint64_t i = 0; i < locations; ++i) names.locations.push_back(location_of(source, texts));
    names.first_location.push_back(static_cast<std::uint32_t>(names.locations.size()));
  }
  require_read(source);
  return names;
}

void append_names(Names& all, std::uint64_t first, const Names& part) {
  if (all.strings.empty()) all.strings.emplace_back();
  if (all.first_location.empty()) all.first_location.push_back(0);
  const std::size_t frames = part.first_location.size() - 1;
  const bool goes_on = first >= all.first_location.size() - 1 && first <= max_frames - frames;
  require(goes_on, "its ids are impossible");
  require(all.strings.size() + part.strings.size() <= max_named_texts &&
              all.locations.size() + part.locations.size() <= max_named_locations,
          "it holds more names than any recorder's");
  const auto texts = static_cast<std::uint32_t>(all.strings.size() - 1);
  const auto begin = static_cast<std::uint32_t>(all.locations.size());
  all.strings.insert(all.strings.end(), part.strings.begin() + 1, part.strings.end());
  all.first_location.resize(static_cast<std::size_t>(first) + 1, begin);  // for lost frames in between
  for (std::size_t frame = 1; frame <= frames; ++frame) {
    all.first_location.push_back(begin + part.first_location[frame]);
  }
  for (Location location : part.locations) {
    if (location.function != 0) location.function += texts;
    if (location.file != 0) location.file += texts;
    all.locations.push_back(location);
  }
}

}  // namespace heapwright::trace
