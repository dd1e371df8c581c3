#!/bin/sh
# SPDX-License-Identifier: MIT
# bin/heapwright of the tarball and of the Debian package: runs ../lib/heapwright with a Python that has its compiled
# module, or with the one that the tarball brings. Nothing is put into the environment, which a recorded program inherits.
lib=$(dirname "$(dirname "$(readlink -f "$0")")")/lib/heapwright
versions=@VERSIONS@
or_later=@OR_LATER@
for version in $versions; do
  python=$(command -v "python$version") && exec "$python" "$lib/run.py" "$@"
done
python=$(command -v python3) || python=
has=$([ -z "$python" ] || "$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for version in $versions; do
  [ "$has" != "$version" ] || exec "$python" "$lib/run.py" "$@"
done
if [ "$or_later" ] && [ "${has%%.*}" = 3 ] && [ "${has#*.}" -gt "${versions##*.}" ]; then
  exec "$python" "$lib/run.py" "$@"
fi
own=$lib-python/bin/python3.11
[ ! -x "$own" ] || exec "$own" -E -s "$lib/run.py" "$@"
echo "heapwright: needs Python ${versions%% *}$or_later, found ${has:-none}; install it, or the wheel for yours" >&2
exit 2
