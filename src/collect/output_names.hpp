// SPDX-License-Identifier: MIT
// Chooses the output file of each process image.
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

  // A name not yet used in this session: "x.heapwright", then "x.2.heapwright" ... for an exec in the same
  // process or a pattern without %p. Also skips files of earlier recordings unless they may be replaced.
  // Empty when a stream already has its one recording.
  std::string choose(std::uint64_t process_id, const std::string& program);

  // From now on every recording goes to a stream, which may take only one.
  void write_to_stream(bool takes_one) {
    is_stream_ = true;
    takes_one_ = takes_one;
  }

  // Why the first file cannot be written; empty when it can.
  std::string why_not_writable(const std::string& path) const;

 private:
  std::string pattern_;
  std::string host_;
  bool replaces_existing_;
  bool is_stream_ = false;
  bool takes_one_ = false;
  std::set<std::string> used_;
};

// The last path component, made safe for a file name; "program" if there is none.
std::string file_name_part(const std::string& path);

}  // namespace heapwright::collect
