// SPDX-License-Identifier: MIT
// Adds the recording's variables to the environment of an image that is to be recorded but would not be given
// them. Without libc but its memory and text functions: it also runs in the agent of a running process.
#pragma once

#include <cstddef>
#include <cstring>

#include "session/layout.hpp"

namespace heapwright::record {

// The values of the variables.
struct RecordedImages {
  const char* library;  // the recorder's path; nullptr: unknown, and nothing is added
  const char* session;  // the value of HEAPWRIGHT_SESSION; empty: the same
};

// On the caller's stack, since nothing can be allocated here:
//   const ExtendedEnvironment extended(environment, images);
//   char* room[extended.pointers()];
//   char text[extended.bytes()];
//   exec(..., extended.write(room, text));
class ExtendedEnvironment {
 public:
  ExtendedEnvironment(char* const* environment, const RecordedImages& images) noexcept;
  std::size_t pointers() const noexcept { return pointers_; }
  std::size_t bytes() const noexcept { return bytes_; }
  // Returns `environment` itself if it already has all variables.
  char* const* write(char** room, char* text) const noexcept;

 private:
  static constexpr char preload_name[] = "LD_PRELOAD=";
  static constexpr std::size_t preload_name_length = sizeof preload_name - 1;
  static constexpr std::size_t session_name_length = sizeof session::session_variable - 1;

  static bool is_preload(const char* text) noexcept {
    return std::strncmp(text, preload_name, preload_name_length) == 0;
  }
  static bool is_session(const char* text) noexcept {
    return std::strncmp(text, session::session_variable, session_name_length) == 0 &&
           text[session_name_length] == '=';
  }
  static bool names_recorder(const char* preloads) noexcept {
    constexpr char name[] = "libheapwright-record.so";
    for (; *preloads != '\0'; ++preloads) {
      if (std::strncmp(preloads, name, sizeof name - 1) == 0) return true;
    }
    return false;
  }
  static char* append(char* to, const char* text) noexcept {
    const std::size_t length = std::strlen(text);
    std::memcpy(to, text, length + 1);
    return to + length;
  }

  char* const* environment_;
  RecordedImages images_;
  const char* old_preload_ = nullptr;
  bool has_library_ = false;
  bool is_needed_ = false;
  std::size_t pointers_ = 1;
  std::size_t bytes_ = 1;
};

inline ExtendedEnvironment::ExtendedEnvironment(char* const* environment,
                                                const RecordedImages& images) noexcept
    : environment_(environment), images_(images) {
  bool has_session = false;
  std::size_t count = 0;
  for (; environment != nullptr && environment[count] != nullptr; ++count) {
    has_session |= is_session(environment[count]);
    if (is_preload(environment[count])) old_preload_ = environment[count] + preload_name_length;
  }
  const bool has_library = old_preload_ != nullptr && names_recorder(old_preload_);
  is_needed_ = !(has_library && has_session) && images.library != nullptr && images.session[0] != '\0';
  if (!is_needed_) return;
  has_library_ = has_library;
  pointers_ = count + 3;
  bytes_ = preload_name_length + std::strlen(images.library) + 1 + session_name_length + 1 +
           std::strlen(images.session) + 2;
  if (old_preload_ != nullptr) bytes_ += std::strlen(old_preload_) + 1;
}

inline char* const* ExtendedEnvironment::write(char** room, char* text) const noexcept {
  if (!is_needed_) return environment_;
  char** to = room;
  for (char* const* from = environment_; from != nullptr && *from != nullptr; ++from) {
    if (!is_preload(*from) && !is_session(*from)) *to++ = *from;
  }
  *to++ = text;
  text = append(text, preload_name);
  if (!has_library_) text = append(text, images_.library);
  const bool has_others = old_preload_ != nullptr && old_preload_[0] != '\0';
  if (has_others && !has_library_) text = append(text, ":");
  if (has_others) text = append(text, old_preload_);
  *to++ = ++text;
  append(append(append(text, session::session_variable), "="), images_.session);
  *to = nullptr;
  return room;
}

}  // namespace heapwright::record
