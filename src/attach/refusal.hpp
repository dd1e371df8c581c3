// SPDX-License-Identifier: MIT
// Why a process cannot be attached to and what to do: a sentence without its subject, "it is stopped; ...".
#pragma once

#include <stdexcept>
#include <string>

namespace heapwright::attach {

class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A thread did not stop in time; all threads continue, and the next attempt may succeed.
class NotStopped : public Refusal {
 public:
  using Refusal::Refusal;
};

}  // namespace heapwright::attach
