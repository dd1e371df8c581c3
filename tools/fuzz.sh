#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fuzz.sh SECONDS: runs every fuzzer of build/fuzz/bin for SECONDS each, with
# memory bounded, and keeps what it finds in build/fuzz/found/.
set -euo pipefail

seconds=${1:-60}
cd "$(dirname "$0")/.."
mkdir -p build/fuzz/found
count=0
for fuzzer in build/fuzz/bin/*_fuzz; do
  [[ -x $fuzzer ]] || continue
  name=$(basename "$fuzzer")
  corpus=build/fuzz/corpus/$name
  mkdir -p "$corpus"
  seeds=()
  [[ $name == trace_decoder_fuzz ]] && seeds=(fuzz/trace_decoder_corpus tests/traces)
  [[ $name == heap_api_fuzz ]] && seeds=(fuzz/heap_api_corpus)
  echo "fuzz: $name for $seconds s"
  "$fuzzer" -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=10 -print_final_stats=1 \
    -artifact_prefix=build/fuzz/found/ "$corpus" "${seeds[@]}" 2>&1 | tail -n 12
  count=$((count + 1))
done
[[ $count -gt 0 ]] || { echo "fuzz: no fuzzers in build/fuzz/bin" >&2; exit 1; }
echo "fuzz: $count fuzzers, nothing found"
