// SPDX-License-Identifier: MIT
#include "record/environment.hpp"

#include <dlfcn.h>

#include <cstring>

#include "record/session_link.hpp"
#include "session/layout.hpp"

namespace heapwright::record {
namespace {

constexpr char preload_name[] = "LD_PRELOAD=";
constexpr std::size_t preload_name_length = sizeof preload_name - 1;
constexpr std::size_t session_name_length = sizeof session::session_variable - 1;

const char* own_library;

bool is_variable(const char* text, const char* name, std::size_t name_length) noexcept {
  return std::strncmp(text, name, name_length) == 0;
}

bool is_session(const char* text) noexcept {
  return is_variable(text, session::session_variable, session_name_length) &&
         text[session_name_length] == '=';
}

char* append(char* to, const char* text) noexcept {
  const std::size_t length = std::strlen(text);
  std::memcpy(to, text, length + 1);
  return to + length;
}

}  // namespace

void find_own_library() noexcept {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&find_own_library), &self) != 0) own_library = self.dli_fname;
}

ExtendedEnvironment::ExtendedEnvironment(char* const* environment) noexcept : environment_(environment) {
  bool has_session = false;
  std::size_t count = 0;
  for (; environment != nullptr && environment[count] != nullptr; ++count) {
    has_session |= is_session(environment[count]);
    if (is_variable(environment[count], preload_name, preload_name_length)) {
      old_preload_ = environment[count] + preload_name_length;
    }
  }
  const bool has_library =
      old_preload_ != nullptr && std::strstr(old_preload_, "libheapwright-record.so") != nullptr;
  is_needed_ = !(has_library && has_session) && own_library != nullptr && session_text()[0] != '\0';
  if (!is_needed_) return;
  has_library_ = has_library;
  pointers_ = count + 3;
  bytes_ = preload_name_length + std::strlen(own_library) + 1 + session_name_length + 1 +
           std::strlen(session_text()) + 2;
  if (old_preload_ != nullptr) bytes_ += std::strlen(old_preload_) + 1;
}

char* const* ExtendedEnvironment::write(char** room, char* text) const noexcept {
  if (!is_needed_) return environment_;
  char** to = room;
  for (char* const* from = environment_; from != nullptr && *from != nullptr; ++from) {
    if (!is_variable(*from, preload_name, preload_name_length) && !is_session(*from)) *to++ = *from;
  }
  *to++ = text;
  text = append(text, preload_name);
  if (!has_library_) text = append(text, own_library);
  const bool has_others = old_preload_ != nullptr && old_preload_[0] != '\0';
  if (has_others && !has_library_) text = append(text, ":");
  if (has_others) text = append(text, old_preload_);
  *to++ = ++text;
  append(append(append(text, session::session_variable), "="), session_text());
  *to = nullptr;
  return room;
}

}  // namespace heapwright::record
