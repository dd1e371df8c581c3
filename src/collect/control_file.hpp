// SPDX-License-Identifier: MIT
// A file whose text, "start" or "stop", switches the recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace heapwright::collect {

class ControlFile {
 public:
  explicit ControlFile(std::string path) : path_(std::move(path)) {}

  // The wish, when the file says another one than at the last call. A file
  // that is missing or empty says nothing; `complaint` is set, once per
  // text, when it says neither word.
  std::optional<bool> poll(std::string& complaint);

  static constexpr std::uint64_t interval_ns = 50'000'000;

 private:
  std::string path_;
  std::string last_text_;
};

}  // namespace heapwright::collect
