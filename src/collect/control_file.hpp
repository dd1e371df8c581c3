// SPDX-License-Identifier: MIT
// A file whose text, "start" or "stop", switches the recording on and off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace heapwright::collect {

class ControlFile {
 public:
  explicit ControlFile(std::string path) : path_(std::move(path)) {}

  // The requested state, if it differs from the last call's. A missing or empty file requests nothing.
  // `complaint` is set, once per text, if the file contains neither word.
  std::optional<bool> poll(std::string& complaint);

  static constexpr std::uint64_t interval_ns = 50'000'000;

 private:
  std::string path_;
  std::string last_text_;
};

}  // namespace heapwright::collect
