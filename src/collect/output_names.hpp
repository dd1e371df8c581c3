// SPDX-License-Identifier: MIT
// Which file a process image is written to.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace heapwright::collect {

class OutputNames {
 public:
  OutputNames(std::string pattern, std::string host, bool replaces_existing)
      : pattern_(std::move(pattern)), host_(std::move(host)), replaces_existing_(replaces_existing) {}

  // The pattern with %p, %s, %h, %e and %% filled in.
  std::string expand(std::uint64_t process_id, const std::string& program) const;

  // A name that this session has not used yet: "x.heapwright", then
  // "x.2.heapwright" ... for an exec in the same process or a pattern without
  // %p. Files of earlier recordings are stepped over as well unless they may
  // be replaced. Empty when a stream has its one recording.
  std::string choose(std::uint64_t process_id, const std::string& program);

  // From now on every recording goes to a stream, which may take one only.
  void write_to_stream(bool takes_one) {
    is_stream_ = true;
    takes_one_ = takes_one;
  }

  // Why the first file could not be written; empty when it can.
  std::string why_not_writable(const std::string& path) const;

 private:
  std::string pattern_;
  std::string host_;
  bool replaces_existing_;
  bool is_stream_ = false;
  bool takes_one_ = false;
  std::set<std::string> used_;
};

// The last part of the path as it may stand in a file name; "program" when
// there is none.
std::string file_name_part(const std::string& path);

}  // namespace heapwright::collect
