// SPDX-License-Identifier: MIT
// Passes the session's file to recorded processes that cannot open its path in /proc: those of another user,
// in a chroot, or without /proc.
#pragma once

#include <string>
#include <thread>

namespace heapwright::collect {

// An abstract socket with its own thread, so that clients do not wait for the collector's rounds. A client
// that sends the key gets the descriptor; the key is in the environment of recorded processes, which only
// their user can read.
class SessionDoor {
 public:
  // Without sockets there is no door: name() is then empty.
  explicit SessionDoor(int session_file);
  ~SessionDoor();
  SessionDoor(const SessionDoor&) = delete;
  SessionDoor& operator=(const SessionDoor&) = delete;

  // "<name>:<key>", or ":".
  std::string text() const { return name_ + ":" + key_; }

 private:
  void answer();

  int session_file_;
  int socket_ = -1;
  int stop_event_ = -1;
  std::string name_;
  std::string key_;
  std::thread thread_;
};

}  // namespace heapwright::collect
