// SPDX-License-Identifier: MIT
// The facts that the agent needs about its process.
#pragma once

#include "attach/agent/layout.hpp"
#include "attach/plan.hpp"

namespace heapwright::attach {

// Everything except the number of earlier attachments.
agent::Agent make_agent(const Plan& plan);
// What an agent needs about the second allocator. All zero: there is none.
agent::Agent make_second(const Plan& plan);

}  // namespace heapwright::attach
