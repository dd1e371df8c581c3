#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs small tasks of many programs alone and under the recorder: same output, same exit code?

Beside tests/journeys/debian_programs.py, which `make test` runs. What is not installed, fails alone, or says
something else when it is run alone a second time, is left out and named. --write puts the result into
docs/truth.md.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

project = Path(__file__).resolve().parent.parent
collector = project / "build/release/bin/heapwright-collect"
document = project / "docs/truth.md"
begin_mark, end_mark = "<!-- more programs: begin -->\n", "<!-- more programs: end -->\n"
limit_s = 120

C_TEXT = (
    '#include <stdio.h>\\nint f(int n){return n<2?n:f(n-1)+f(n-2);}\\nint main(){printf("%d\\\\n",f(20));}\\n'
)
MAKE_C = f"printf '{C_TEXT}' > w.c; "
NUMBERS = "seq 50000 > n; "

# By the program whose work it is. "{src}" is this project's source folder.
TASKS = {
    "ar": MAKE_C + "gcc -c w.c && ar rcD w.a w.o && ar t w.a && nm w.a",
    "as": MAKE_C + "gcc -S -O1 w.c -o w.s && as w.s -o w.o && objdump -d w.o | md5sum",
    "b2sum": NUMBERS + "b2sum n",
    "base64": NUMBERS + "base64 n | base64 -d | md5sum",
    "bzip2": NUMBERS + "bzip2 -9k n && bunzip2 -c n.bz2 | md5sum",
    "c++filt": "nm -D /usr/lib/x86_64-linux-gnu/libstdc++.so.6 | c++filt | md5sum",
    "clang": MAKE_C + "clang -O2 w.c -o w && ./w",
    "clang-format": "clang-format {src}/collect/*.cpp | md5sum",
    "comm": "seq 0 2 40000 | sort > a; seq 0 3 40000 | sort > b; comm -12 a b | md5sum",
    "convert": "convert -size 64x64 gradient:red-blue -resize 200% -depth 8 rgb:- | md5sum",
    "cpp": "echo '#include <stdio.h>' | cpp | md5sum",
    "cscope": "cp {src}/base/*.hpp . ; cscope -bk -s. && cscope -dL1 hash | wc -l",
    "csplit": NUMBERS + "csplit -s n 100 '{{9}}' && ls | wc -l",
    "ctags": "ctags -R -f - {src}/record | md5sum",
    "cut": "cut -c1-40 {src}/*/*.cpp | md5sum",
    "dash": "dash -c 'i=0; while [ $i -lt 5000 ]; do i=$((i+1)); s=$s.; done; echo ${#s}'",
    "dd": "dd if=/dev/zero bs=4k count=500 2>/dev/null | md5sum",
    "diff": NUMBERS + "seq 2 50001 > m; diff -u n m | tail -n +3 | md5sum",
    "dpkg-deb": "mkdir -p d/DEBIAN; printf 'Package: w\\nVersion: 1\\nArchitecture: all\\nMaintainer: n\\n"
    "Description: d\\n' > d/DEBIAN/control; dpkg-deb -b d w.deb >/dev/null && dpkg-deb -f w.deb Package",
    "dpkg-query": "dpkg-query -W | md5sum",
    "ed": "printf 'a\\none\\ntwo\\n.\\n1,$s/o/0/g\\n,p\\nQ\\n' | ed -s",
    "expr": "expr 12345678901234567890 '*' 98765432109876543210",
    "factor": "seq 100000000 100000300 | factor | md5sum",
    "file": "file -b /usr/bin/* | sort | md5sum",
    "fmt": "fmt -w 60 {src}/../README.md | md5sum",
    "gcc": MAKE_C + "gcc -O3 -flto w.c -o w && ./w",
    "gcov": MAKE_C + "gcc --coverage w.c -o w && ./w && gcov -t *.gcda | md5sum",
    "go": "mkdir m && cd m && go version >/dev/null && echo 'package main; func main(){{println(1)}}' > "
    "w.go && gofmt w.go",
    "gpg": "echo secret | gpg --batch --no-tty --passphrase x --pinentry-mode loopback -co f 2>/dev/null;"
    " gpg --batch --no-tty --passphrase x --pinentry-mode loopback -d f 2>/dev/null; gpgconf --kill all",
    "grep": "grep -rEc '[a-z]+_[a-z]+\\(' {src} | sort | md5sum",
    "groff": "printf '.TH W 1\\n.SH NAME\\nw - work\\n' | groff -man -Tascii | md5sum",
    "hexdump": "hexdump -C /bin/true | md5sum",
    "iconv": NUMBERS + "iconv -f utf-8 -t utf-16 n | iconv -f utf-16 -t latin1 | md5sum",
    "join": "seq 9999 | sort > a; seq 1 7 9999 | sort > b; join a b | wc -l",
    "llc": "echo 'define i32 @f(i32 %x) {{ %y = mul i32 %x, 3 ret i32 %y }}' | llc -O2 | md5sum",
    "llvm-objdump": "llvm-objdump -d /bin/cat | md5sum",
    "lld": MAKE_C + "gcc -fuse-ld=lld w.c -o w && ./w",
    "localedef": "localedef -i C -f UTF-8 ./l; ls l | wc -l",
    "lz4": NUMBERS + "lz4 -9qk n && lz4 -dqc n.lz4 | md5sum",
    "mawk": "seq 99999 | mawk '{{s[$1%97]+=$1}} END {{for (i=0;i<97;i++) print s[i]}}' | md5sum",
    "memcached": "chmod 777 .; memcached -u nobody -s ./s & p=$!; sleep 1; printf '%s\\n' 'import socket'"
    " 's = socket.socket(socket.AF_UNIX)' 's.connect(\"s\")' 'for i in range(2000):'"
    ' \' s.sendall(b"set k%d 0 0 900\\r\\n" % i + b"x" * 900 + b"\\r\\n")\' \' assert s.recv(99)\''
    " 's.sendall(b\"get k7\\r\\n\")' 'print(len(s.recv(9999)))' > w.py;"
    " python3 w.py; kill $p; wait $p; echo $?",
    "msgfmt": 'printf \'msgid "a"\\nmsgstr "b"\\n\' | msgfmt - -o w.mo && md5sum w.mo',
    "nginx": "printf 'daemon off; pid p; error_log e; events {{}} http {{ access_log off; server {{ "
    "listen unix:s; "
    "location / {{ return 200 ok; }} }} }}' > c; nginx -p $PWD -c $PWD/c 2>/dev/null & p=$!; sleep 1;"
    " for i in $(seq 50); do curl -s --unix-socket s http://x/; done | md5sum; kill $p; wait $p",
    "ninja": "printf 'rule t\\n command = touch $out\\n' > build.ninja; for i in $(seq 200); do echo "
    '"build t$i: t";'
    " done >> build.ninja; ninja -j2 >/dev/null && ls t* | wc -l",
    "numfmt": "seq 1000 1000 900000 | numfmt --to=iec | md5sum",
    "od": "od -x /bin/true | md5sum",
    "opt": "echo 'define i32 @f() {{ %y = add i32 2, 3 ret i32 %y }}' | opt -O2 -S | grep ret",
    "patch": NUMBERS + "seq 2 50001 > m; diff -u n m > d; patch -s n d && cmp n m && echo same",
    "postgres": "postgres --describe-config 2>/dev/null | md5sum",
    "ptx": "seq 3000 | ptx | md5sum",
    "python3": "/usr/bin/python3 -m test -q test_json test_dict test_re test_list test_bytes test_heapq "
    "test_copy"
    " >/dev/null 2>&1; echo $?",
    "readelf": "readelf -aW /bin/ls | md5sum",
    "redis-server": "redis-server --port 0 --unixsocket ./s --save '' >/dev/null & p=$!; sleep 1;"
    " redis-benchmark -s ./s -n 3000 -c 10 -q -t set,get,lpush >/dev/null; redis-cli -s ./s dbsize;"
    " redis-cli -s ./s shutdown nosave; wait $p",
    "sed": "sed -E 's/([a-z]+)_([a-z]+)/\\2_\\1/g' {src}/*/*.cpp | md5sum",
    "shuf": "seq 99999 | shuf --random-source=/bin/ls | md5sum",
    "split": NUMBERS + "split -l 500 n && cat x* | md5sum",
    "ssh-keygen": "ssh-keygen -q -t ed25519 -N '' -f k && ssh-keygen -yf k | cut -d' ' -f1",
    "strace": "strace -o t true; tail -1 t",
    "strip": MAKE_C + "gcc -g w.c -o w && strip w && ./w",
    "tr": NUMBERS + "tr 0-9 a-j < n | md5sum",
    "tsort": "seq 20000 | paste - - | tsort | md5sum",
    "unzip": NUMBERS + "zip -q w.zip n && unzip -p w.zip | md5sum",
    "wc": "wc {src}/*/*.cpp | md5sum",
    "x264": "x264 --help | md5sum",
    "xxd": "xxd /bin/true | xxd -r | cmp - /bin/true && echo same",
}


def run(task: str, folder: Path, around: list[str]) -> tuple[int, str, str]:
    folder.mkdir()
    variables = {**os.environ, "LC_ALL": "C", "HOME": str(folder)}
    done = subprocess.run(
        [
            *around,
            "bash",
            "-c",
            task.replace("{src}", str(project / "src")).replace("{{", "{").replace("}}", "}"),
        ],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit_s,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def compare(name: str) -> str:
    """Why a program is left out, "same", or how it differs."""
    if shutil.which(name) is None:
        return "not installed"
    with tempfile.TemporaryDirectory(prefix="heapwright-compare-") as place:
        folder = Path(place)
        alone = [run(TASKS[name], folder / which, []) for which in ("first", "second")]
        if alone[0][0] != 0:
            return "fails alone"
        if alone[0] != alone[1]:
            return "differs alone"
        traces = folder / "traces"
        traces.mkdir()
        around = [str(collector), "--quiet", "--children", "--output", str(traces / "%e.%p.heapwright"), "--"]
        recorded = run(TASKS[name], folder / "recorded", around)
        if not any(traces.iterdir()):
            return "no trace"
        if recorded[:2] != alone[0][:2]:
            return f"exit code {recorded[0]}, {recorded[1][:60]!r} for {alone[0][1][:60]!r}"
    return "same"


def in_words(results: dict[str, str]) -> str:
    left_out = ("not installed", "fails alone", "differs alone")
    tried = {name: result for name, result in results.items() if result not in left_out}
    same = [name for name, result in tried.items() if result == "same"]
    text = (
        f"{len(same)} of {len(tried)} further programs: same output, same exit code.\n\n{', '.join(same)}.\n"
    )
    for name, result in tried.items():
        if result != "same":
            text += f"\n- {name}: {result}\n"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs, all if none is named")
    parser.add_argument("--write", action="store_true", help="put the result into docs/truth.md")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(TASKS)
    if unknown:
        print(
            f"no task for {', '.join(sorted(unknown))}; there is one for {', '.join(TASKS)}", file=sys.stderr
        )
        return 2
    results: dict[str, str] = {}
    for name in arguments.names or TASKS:
        began = time.monotonic()
        try:
            results[name] = compare(name)
        except subprocess.TimeoutExpired:
            results[name] = f"not over after {limit_s} s"
        print(f"{time.monotonic() - began:6.1f} s  {name}: {results[name]}", flush=True)
    words = in_words(results)
    print(words)
    if arguments.write:
        before, _, rest = document.read_text().partition(begin_mark)
        document.write_text(
            before + begin_mark + "\n" + words + "\n" + end_mark + rest.partition(end_mark)[2]
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
