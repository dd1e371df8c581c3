// SPDX-License-Identifier: MIT
// Reads a remedy file: the part of TOML that `heapwright keep` writes. Everything else is an error, since the
// file decides what happens to the program's memory.
#pragma once

#include <cstddef>

#include "apply/remedies.hpp"

namespace heapwright::apply {

const char* name_of(RemedyKind kind) noexcept;

struct FileError {
  const char* what;  // nullptr: none
  std::size_t line;
};

// Fills `into`, which is zeroed before. Allocates nothing. After an error it holds no remedies. Time: linear.
FileError parse_remedies(const char* text, std::size_t bytes, Remedies& into) noexcept;

// The same of a file, by system calls alone. line is 0 where the file itself is the trouble.
FileError read_remedies(const char* path, Remedies& into) noexcept;

}  // namespace heapwright::apply
