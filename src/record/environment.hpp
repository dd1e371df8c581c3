// SPDX-License-Identifier: MIT
// An environment with the recording in it, for an image that is to be
// recorded although what it would be given does not say so.
#pragma once

#include <cstddef>

namespace heapwright::record {

// Looks up what the environment is to name. Before main.
void find_own_library() noexcept;

// On the stack of the caller, since nothing can be allocated here:
//   const ExtendedEnvironment extended(environment);
//   char* room[extended.pointers()];
//   char text[extended.bytes()];
//   exec(..., extended.write(room, text));
class ExtendedEnvironment {
 public:
  explicit ExtendedEnvironment(char* const* environment) noexcept;
  std::size_t pointers() const noexcept { return pointers_; }
  std::size_t bytes() const noexcept { return bytes_; }
  // `environment` itself when it has everything.
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
