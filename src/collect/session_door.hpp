// SPDX-License-Identifier: MIT
// Passes the session's file to recorded processes that cannot open its path in /proc: those of another user,
// in a chroot or in a user namespace, or without /proc.
#pragma once

#include <array>
#include <string>
#include <thread>
#include <vector>

namespace heapwright::collect {

// Two sockets: an abstract one, which is there without any folder, and one in a folder of /tmp, which is
// there in other network namespaces. They have a thread of their own, so that clients do not wait for the
// collector's rounds. A client that sends the key gets the descriptor; the key is in the environment of
// recorded processes, which only their user can read. A collector that is killed leaves its folder.
class SessionDoor {
 public:
  // Without sockets there is no door: text() has empty fields.
  explicit SessionDoor(int session_file);
  ~SessionDoor();
  SessionDoor(const SessionDoor&) = delete;
  SessionDoor& operator=(const SessionDoor&) = delete;

  // "<abstract name>:<path>:<key>".
  std::string text() const { return name_ + ":" + path_ + ":" + key_; }

 private:
  void answer();
  void admit(int socket);
  void serve(int client);

  int session_file_;
  int stop_event_ = -1;
  std::array<int, 2> sockets_ = {-1, -1};
  std::vector<int> clients_;  // connected, without a question yet
  std::string name_;
  std::string path_;
  std::string key_;
  std::thread thread_;
};

}  // namespace heapwright::collect
