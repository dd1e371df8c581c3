// SPDX-License-Identifier: MIT
// A list of whole numbers in one line of JSON.
#pragma once

#include <string>

namespace heapwright::replay {

// "name":[…] with value(entry) for each entry.
template <typename Entries, typename Value>
void put_series(std::string& json, const char* name, const Entries& entries, Value value) {
  json += std::string("\"") + name + "\":[";
  const char* separator = "";
  for (const auto& entry : entries) {
    json += separator + std::to_string(value(entry));
    separator = ",";
  }
  json += "],";
}

}  // namespace heapwright::replay
