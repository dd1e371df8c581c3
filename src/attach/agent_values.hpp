// SPDX-License-Identifier: MIT
// What the agent is told about the process that it is in.
#pragma once

#include <string>

#include "attach/agent/layout.hpp"
#include "attach/plan.hpp"

namespace heapwright::attach {

// All but how many attachments and tables there were before. page_path: the file it counts in.
agent::Agent make_agent(const Plan& plan, const Region& region, const std::string& page_path);

}  // namespace heapwright::attach
