// SPDX-License-Identifier: MIT
// What the agent knows about the process that it is in.
#pragma once

#include "attach/agent/layout.hpp"
#include "attach/plan.hpp"

namespace heapwright::attach {

// All but how many attachments there were before.
agent::Agent make_agent(const Plan& plan);

}  // namespace heapwright::attach
