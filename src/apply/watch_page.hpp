// SPDX-License-Identifier: MIT
// The page that other processes read: what each remedy does (docs/counters.md). It is in memory of its own
// until publish_watch_page() puts it into /dev/shm/heapwright-PID.apply, and stays there if that is refused.
#pragma once

#include <cstdint>

#include "apply/remedies.hpp"
#include "counters/remedies_section.hpp"

namespace heapwright::apply {

static_assert(most_remedies == counters::most_remedy_rows);

// By the remedy's number; of one without a site it says nothing.
counters::RemedyCounters& watched(std::uint32_t remedy) noexcept;

// Names the rows.
void prepare_watch_page(const Remedies& remedies) noexcept;
// As soon as a named site may call: other programs that inherit the variables have no file. Again is nothing;
// one thread at a time.
void publish_watch_page() noexcept;
// A child of a fork counts from 0 in memory of its own, and has no file: many children end without exit(),
// and nobody would remove theirs.
void leave_watch_page_in_child() noexcept;
// Removes the file.
void close_watch_page() noexcept;

}  // namespace heapwright::apply
