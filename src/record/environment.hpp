// SPDX-License-Identifier: MIT
// Adds the recording's variables to the environment of an image that is to be recorded but would not be given
// them.
#pragma once

#include <cstddef>

namespace heapwright::record {

// Looks up the values for the environment. Before main.
void find_own_library() noexcept;

// On the caller's stack, since nothing can be allocated here:
//   const ExtendedEnvironment extended(environment);
//   char* room[extended.pointers()];
//   char text[extended.bytes()];
//   exec(..., extended.write(room, text));
class ExtendedEnvironment {
 public:
  explicit ExtendedEnvironment(char* const* environment) noexcept;
  std::size_t pointers() const noexcept { return pointers_; }
  std::size_t bytes() const noexcept { return bytes_; }
  // Returns `environment` itself if it already has all variables.
  char* const* write(char** room, char* text) const noexcept;

 private:
  char* const* environment_;
  const char* old_preload_ = nullptr;
  bool has_library_ = false;
  bool is_needed_ = false;
  std::size_t pointers_ = 1;
  std::size_t bytes_ = 1;
};

}  // namespace heapwright::record
