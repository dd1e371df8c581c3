// SPDX-License-Identifier: MIT
// The collector's side of the shared session: creates the sparse file, maps its control page and, one by one,
// the blocks that processes have claimed.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "collect/session_door.hpp"
#include "session/layout.hpp"

namespace heapwright::collect {

// One line that says what to do.
class SessionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SessionMemory {
 public:
  // Creates a new file, or takes over an empty one that a process has already mapped. Throws SessionError
  // when this machine cannot hold the session.
  SessionMemory() : SessionMemory(make_file()) {}
  explicit SessionMemory(int file);
  ~SessionMemory();
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  session::Control& control() noexcept { return *control_; }
  int file() const noexcept { return file_; }
  // The value of HEAPWRIGHT_SESSION.
  std::string text() const;
  std::uint64_t inode() const noexcept;

  // Makes the state of every block in [0, count) readable. False if the pages cannot be mapped.
  bool show_blocks(std::uint32_t count) noexcept;
  std::uint32_t shown_blocks() const noexcept { return shown_blocks_; }
  std::uint32_t state_of(std::uint32_t index) const noexcept;

  // Maps the whole block; nullptr if the address space has no room.
  session::ProcessBlock* map_block(std::uint32_t index) noexcept;
  void unmap_block(session::ProcessBlock* block) noexcept;

  // Returns the block's memory to the system and lets another process claim it. Its process must be gone, and
  // it must not be mapped here.
  void recycle(std::uint32_t index) noexcept;

 private:
  static int make_file();
  session::ProcessBlock* first_page_of(std::uint32_t index) const noexcept;

  int file_ = -1;
  std::unique_ptr<SessionDoor> door_;
  session::Control* control_ = nullptr;
  // The first pages of all blocks side by side, so that looking for claims touches one page per block rather
  // than one page table per block.
  unsigned char* first_pages_ = nullptr;
  std::uint32_t shown_blocks_ = 0;
};

}  // namespace heapwright::collect
