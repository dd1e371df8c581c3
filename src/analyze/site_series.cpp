// SPDX-License-Identifier: MIT
#include "analyze/site_series.hpp"

#include <algorithm>
#include <numeric>

#include "analyze/facts.hpp"

namespace heapwright::analyze {

SiteSeries::SiteSeries(const TimeSteps& steps, std::size_t sites, std::size_t rows)
    : steps_(steps),
      rows_limit_(rows),
      steps_per_bin_(std::max((steps.points() + most_bins - 1) / most_bins, 1U)),
      bins_((steps.points() + steps_per_bin_ - 1) / steps_per_bin_),
      row_of_site_(sites, no_row) {}

void SiteSeries::close_steps(std::size_t closed_steps, const SiteLives& lives, const SiteTransits& transits) {
  while (closed_ < bins_ && (std::size_t{closed_} + 1) * steps_per_bin_ <= closed_steps) {
    close_bin(lives, transits);
  }
}

void SiteSeries::close_bin(const SiteLives& lives, const SiteTransits& transits) {
  std::vector<Newcomer> newcomers;
  for (std::uint32_t site = 0; site < row_of_site_.size(); ++site) {
    const auto moment = lives.moment_of(site);
    if (row_of_site_[site] != no_row) {
      put(rows_[row_of_site_[site]], moment);
    } else if (moment.live_blocks != 0) {
      newcomers.push_back({site, moment.live_bytes});
    }
  }
  for (const auto& transit : transits) {
    const bool is_new =
        row_of_site_[transit.site] == no_row && lives.moment_of(transit.site).live_blocks == 0;
    if (is_new) newcomers.push_back({transit.site, transit.bytes});
  }
  if (!newcomers.empty()) {
    begin_rows(newcomers, lives);
  }
  for (const auto& transit : transits) {
    const auto number = row_of_site_[transit.site];
    if (number == no_row) continue;
    auto moment = rows_[number].moments[closed_ - rows_[number].first_bin];
    moment.live_bytes += transit.bytes;
    moment.live_usable_bytes += transit.usable_bytes;
    moment.live_blocks += transit.blocks;
    put(rows_[number], moment);
  }
  ++closed_;
}

void SiteSeries::put(Row& row, const SiteMoment& moment) const {
  row.moments[closed_ - row.first_bin] = moment;
  row.largest_bytes = std::max(row.largest_bytes, moment.live_bytes);
}

void SiteSeries::begin_row(Row& row, std::uint32_t site) {
  row.site = site;
  // As long as there are free rows, every site that holds something has one; so before, this site held
  // nothing.
  row.first_bin = rows_.size() < rows_limit_ ? 0 : closed_;
  row.largest_bytes = 0;
  row.moments.assign(bins_ - row.first_bin, {});
}

std::vector<std::uint32_t> SiteSeries::rows_smallest_first() const {
  std::vector<std::uint32_t> numbers(rows_.size());
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::stable_sort(numbers.begin(), numbers.end(),
                   [&](auto a, auto b) { return rows_[a].largest_bytes < rows_[b].largest_bytes; });
  return numbers;
}

// Largest first: they take free rows, then those of the smallest sites.
void SiteSeries::begin_rows(std::vector<Newcomer>& newcomers, const SiteLives& lives) {
  std::sort(newcomers.begin(), newcomers.end(),
            [](const Newcomer& a, const Newcomer& b) { return a.bytes > b.bytes; });
  std::vector<std::uint32_t> smallest_first;
  std::size_t taken = 0;
  for (const auto& newcomer : newcomers) {
    auto number = static_cast<std::uint32_t>(rows_.size());
    if (number < rows_limit_) {
      Row row;
      begin_row(row, newcomer.site);
      rows_.push_back(std::move(row));
    } else {
      if (smallest_first.empty()) smallest_first = rows_smallest_first();
      if (taken == smallest_first.size() || rows_[smallest_first[taken]].largest_bytes >= newcomer.bytes) {
        return;
      }
      number = smallest_first[taken++];
      row_of_site_[rows_[number].site] = no_row;
      begin_row(rows_[number], newcomer.site);
    }
    row_of_site_[newcomer.site] = number;
    put(rows_[number], lives.moment_of(newcomer.site));
  }
}

void SiteSeries::finish(const SiteLives& lives, Facts& facts) {
  while (closed_ < bins_) {
    close_bin(lives, {});
  }
  for (std::uint32_t bin = 0; bin < bins_; ++bin) {
    const auto step = std::min((bin + 1) * steps_per_bin_, steps_.points()) - 1;
    facts.series_end_ns.push_back(steps_.end_of(step));
  }
  for (auto& row : rows_) {
    row.moments.insert(row.moments.begin(), row.first_bin, {});
    facts.series_rows.push_back({row.site, row.first_bin});
    facts.series_moments.insert(facts.series_moments.end(), row.moments.begin(), row.moments.end());
    row.moments = {};
  }
}

}  // namespace heapwright::analyze
