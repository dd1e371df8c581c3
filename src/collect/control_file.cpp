// SPDX-License-Identifier: MIT
#include "collect/control_file.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace heapwright::collect {

std::optional<ControlWish> ControlFile::poll(std::string& complaint) {
  // O_NONBLOCK: do not hang on a named pipe.
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return std::nullopt;
  char bytes[32];
  const ssize_t length = read(file, bytes, sizeof bytes);
  close(file);
  std::string text(bytes, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  // Empty: someone is about to write it.
  if (text.empty() || text == last_text_) return std::nullopt;
  last_text_ = text;
  if (text == "start") return ControlWish::start;
  if (text == "stop") return ControlWish::stop;
  if (text == "snapshot" || text.starts_with("snapshot ")) return ControlWish::snapshot;
  complaint = "the control file '" + path_ + "' must say start, stop or snapshot";
  return std::nullopt;
}

}  // namespace heapwright::collect
