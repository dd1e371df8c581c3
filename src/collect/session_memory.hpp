// SPDX-License-Identifier: MIT
// The collector's side of the shared session: makes the sparse file, maps
// its control page and, one by one, the blocks that processes have claimed.
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
  // Makes a file of its own; or takes an empty one over that a process has mapped already. Throws
  // SessionError when this machine cannot hold the session.
  SessionMemory() : SessionMemory(make_file()) {}
  explicit SessionMemory(int file);
  ~SessionMemory();
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  session::Control& control() noexcept { return *control_; }
  int file() const noexcept { return file_; }
  // What HEAPWRIGHT_SESSION is to hold.
  std::string text() const;
  std::uint64_t inode() const noexcept;

  // The state of every block in [0, count) can be read afterwards.
  // False when the pages could not be mapped.
  bool show_blocks(std::uint32_t count) noexcept;
  std::uint32_t shown_blocks() const noexcept { return shown_blocks_; }
  std::uint32_t state_of(std::uint32_t index) const noexcept;

  // The whole block; nullptr when there is no room in the address space.
  session::ProcessBlock* map_block(std::uint32_t index) noexcept;
  void unmap_block(session::ProcessBlock* block) noexcept;

  // Gives the block's memory back to the machine and lets another process
  // claim it. Its process must be gone, and it must not be mapped here.
  void recycle(std::uint32_t index) noexcept;

 private:
  static int make_file();
  session::ProcessBlock* first_page_of(std::uint32_t index) const noexcept;

  int file_ = -1;
  std::unique_ptr<SessionDoor> door_;
  session::Control* control_ = nullptr;
  // First page of each block side by side, so that looking for claims touches
  // one page per block and not one page table each.
  unsigned char* first_pages_ = nullptr;
  std::uint32_t shown_blocks_ = 0;
};

}  // namespace heapwright::collect
