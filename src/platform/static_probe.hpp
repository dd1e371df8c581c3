// SPDX-License-Identifier: MIT
// Static probes for tracers (USDT): a nop, and a note in the file that gives its address and the registers of
// the arguments. Without a tracer only the nop runs. bpftrace, perf and bcc find the probes by `readelf -n`.
// The note's layout is systemtap's, type 3
// (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation).
#pragma once

// The section from which a tracer computes how far the addresses in the notes were moved after linking.
#define HEAPWRIGHT_PROBE_BASE                                             \
  ".ifndef _.stapsdt.base\n"                                              \
  ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
  ".weak _.stapsdt.base\n"                                                \
  ".hidden _.stapsdt.base\n"                                              \
  "_.stapsdt.base: .space 1\n"                                            \
  ".size _.stapsdt.base,1\n"                                              \
  ".popsection\n"                                                         \
  ".endif\n"

#define HEAPWRIGHT_PROBE_TEXT(provider, name, arguments) \
  "990: nop\n"                                           \
  ".pushsection .note.stapsdt,\"\",%%note\n"             \
  ".balign 4\n"                                          \
  ".4byte 992f-991f,994f-993f,3\n"                       \
  "991: .asciz \"stapsdt\"\n"                            \
  "992: .balign 4\n"                                     \
  "993: .8byte 990b,_.stapsdt.base,0\n"                  \
  ".asciz \"" provider                                   \
  "\"\n"                                                 \
  ".asciz \"" name                                       \
  "\"\n"                                                 \
  ".asciz \"" arguments                                  \
  "\"\n"                                                 \
  "994: .balign 4\n"                                     \
  ".popsection\n" HEAPWRIGHT_PROBE_BASE

// Arguments are unsigned numbers of 64 bits, or addresses.
#define HEAPWRIGHT_PROBE1(provider, name, a) \
  asm volatile(HEAPWRIGHT_PROBE_TEXT(provider, name, "8@%0") : : "r"(a))
#define HEAPWRIGHT_PROBE3(provider, name, a, b, c) \
  asm volatile(HEAPWRIGHT_PROBE_TEXT(provider, name, "8@%0 8@%1 8@%2") : : "r"(a), "r"(b), "r"(c))
