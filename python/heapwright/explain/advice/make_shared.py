# SPDX-License-Identifier: MIT
"""shared_ptr<T>(new T): object and control block in one."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, Advice, Rule
from heapwright.report import units

_LEAST_BLOCKS = 1000
_COUNTS_BYTES = 16  # of a control block, which moves into the object's block


def _find(of: Evidence) -> Iterator[Advice]:
    for site, blocks in of.control_blocks.items():
        if blocks.allocations < _LEAST_BLOCKS:
            continue
        per_block = blocks.usable_bytes / blocks.allocations + (8 if of.is_glibc else 0) - _COUNTS_BYTES
        yield Advice(
            (site,),
            f"makes {units.count(blocks.allocations)} shared_ptr with a separately allocated control block",
            (
                f"{units.size(blocks.usable_bytes / blocks.allocations)} each; "
                f"{units.count(blocks.live_at_peak_blocks)} of them lived at the peak",
            ),
            "the calls for the control blocks and their frees; their size with header, without the counts",
            HIGH,
            "the constructor of std::shared_ptr from a pointer is above the allocator",
            blocks.time_ns if of.has_times else 0,
            int(blocks.live_at_peak_blocks * max(0.0, per_block)),
            max(0.0, per_block),
        )


RULE = Rule(
    "make_shared",
    "make_shared_private",
    "use std::make_shared, or make_shared_private if the constructor is private",
    _find,
    (
        "weak_ptr outlive large objects: the whole block stays until the last one is gone",
        "a custom deleter is needed",
    ),
    prelude="""\
#include <heapwright/make_shared_private.hpp>
#include <memory>
class Session {
 public:
  static std::shared_ptr<Session> open();
 private:
  friend class heapwright::private_access;
  explicit Session(int id) : id_(id) {}
  int id_;
};""",
    before="""\
std::shared_ptr<Session> Session::open() {
  return std::shared_ptr<Session>(new Session(7));
}""",
    after="""\
std::shared_ptr<Session> Session::open() {
  return heapwright::make_shared_private<Session>(7);
}""",
)
