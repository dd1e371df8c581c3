// SPDX-License-Identifier: MIT
// Which blocks nothing points to any longer, and who holds the others: from a snapshot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heapwright::analyze {

// Lost blocks of one stack and type.
struct LostSite {
  std::uint32_t stack = 0;
  std::uint32_t type = 0;  // by its virtual table: 1 + its place in Held::types; 0: not known
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t direct_blocks = 0;  // no other lost block points to them
  std::uint64_t direct_bytes = 0;
  std::uint64_t cycle_blocks = 0;  // they point to each other, in a ring
  std::uint64_t cycle_bytes = 0;   // the rest is lost with its owners
};

// A variable, stack or mapping, and what would go with it.
struct Holder {
  std::uint32_t kind = 0;  // trace::RootKind
  std::uint64_t thread_id = 0;
  std::string module;  // its path
  std::string symbol;
  std::uint32_t stack = 0;  // of the call that mapped a mapping; 0: not known
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

// What a holder retains, by the blocks' stack and type.
struct HeldSite {
  std::uint32_t holder = 0;  // its place in Held::holders; above: several holders together
  std::uint32_t stack = 0;
  std::uint32_t type = 0;  // as LostSite::type
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t linked_blocks = 0;  // another block of their size and type points to them: a list, a tree
  std::uint64_t table_blocks = 0;   // a block of another size points to them and many others: an array
};

// Where the shortest way to a HeldSite begins, and to the nearest of its blocks leads.
struct HeldWay {
  std::uint32_t kind = 0;  // of the root, as Holder::kind
  std::uint64_t thread_id = 0;
  std::string module;
  std::string symbol;
  std::uint32_t stack = 0;
};

// A block on that way, in its order.
struct HeldStep {
  std::uint32_t held_site = 0;  // its place in Held::held_sites
  std::uint32_t stack = 0;
};

// All live blocks by stack and type.
struct LiveType {
  std::uint32_t stack = 0;
  std::uint32_t type = 0;  // as LostSite::type
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

struct Held {
  bool is_known = false;  // a snapshot was taken
  std::uint64_t time_ns = 0;
  std::uint64_t stopped_ns = 0;
  // Of a program that ran meanwhile: how many copies were compared (0: it stood still), and how many blocks
  // the last two had pointers to that no copy before had.
  std::uint64_t copies = 0;
  std::uint64_t missed_blocks = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t lost_blocks = 0;
  std::uint64_t lost_bytes = 0;
  std::uint64_t shared_blocks = 0;  // that no single holder retains
  std::uint64_t shared_bytes = 0;
  std::uint64_t interior_blocks = 0;  // that only pointers into them reach
  std::uint64_t interior_bytes = 0;
  std::vector<LostSite> lost_sites;  // most bytes first
  std::vector<Holder> holders;       // most bytes first; small ones are left out
  std::vector<HeldSite> held_sites;  // most bytes first; small ones are left out
  std::vector<HeldWay> ways;         // to the first of these, in their order
  std::vector<HeldStep> steps;       // of these ways
  std::vector<std::string> types;    // classes with virtual functions
  std::vector<LiveType> live;        // most bytes first; small ones are left out
};

}  // namespace heapwright::analyze
