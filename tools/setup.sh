#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# setup.sh run|test|bench|aarch64|trixie|portable|release [PART]: sees to it that the packages of tools/debian-packages.txt
# are there; of those for tests only what tests/PART needs. Root: installs what is missing. Anyone else: one line that says
# what to install, exit code 2. Quick when nothing is missing.
set -euo pipefail

stage=${1:-run}
part=${2:-}
list=$(dirname "$0")/debian-packages.txt
missing=()

is_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Whether tests in one of $1, folders or files with commas between, are among those of $part; empty: all.
concerns_part() {
  local place
  for place in ${1//,/ }; do
    if [[ $part == "$place"* || $place == "$part"* ]]; then return 0; fi
  done
  return 1
}

while read -r wanted package command; do
  [[ $wanted == run || ${wanted%%:*} == "$stage" ]] || continue
  if [[ $wanted == *:* ]] && ! concerns_part "${wanted#*:}"; then continue; fi
  if [[ -n $command ]] && command -v "$command" >/dev/null; then continue; fi
  is_installed "$package" || missing+=("$package")
done < <(grep -v '^#' "$list")

[[ ${#missing[@]} -gt 0 ]] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup: needs these Debian packages or their like: ${missing[*]}" >&2
  exit 2
fi
if [[ $(id -u) -ne 0 ]]; then
  echo "setup: as root, type: apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 2
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >/dev/null
