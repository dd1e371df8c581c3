// SPDX-License-Identifier: MIT
// A file whose text says what to do: "start" or "stop" recording, or "snapshot", which something may follow
// so that the text is a new one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace heapwright::collect {

enum class ControlWish : std::uint8_t { start, stop, snapshot };

class ControlFile {
 public:
  explicit ControlFile(std::string path) : path_(std::move(path)) {}

  // What the text says, if it differs from the last call's. A missing or empty file requests nothing.
  // `complaint` is set, once per text, if the file contains none of the words.
  std::optional<ControlWish> poll(std::string& complaint);

  static constexpr std::uint64_t interval_ns = 50'000'000;

 private:
  std::string path_;
  std::string last_text_;
};

}  // namespace heapwright::collect
