// SPDX-License-Identifier: MIT
// A factory with a private constructor, in one allocation.
#include "heapwright/make_shared_private.hpp"

#include <cstdio>
#include <string>

class session {
 public:
  static std::shared_ptr<session> open(std::string name) {
    return heapwright::make_shared_private<session>(std::move(name));
  }
  const std::string& name() const { return name_; }

 private:
  friend class heapwright::private_access;
  explicit session(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

class keyed {
 public:
  static std::shared_ptr<keyed> make() { return std::make_shared<keyed>(heapwright::passkey<keyed>()); }
  explicit keyed(heapwright::passkey<keyed>) {}  // public, but only keyed has the key
};

int main() {
  std::printf("%s\n", session::open("opened")->name().c_str());
  return keyed::make() != nullptr ? 0 : 1;
}
