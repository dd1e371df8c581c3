// SPDX-License-Identifier: MIT
// For cmake/older_system.cmake: stands for libstdc++.so.6 when heapwright-lab and heapwright-replay are
// linked, and is not shipped. It has the operators alone, so these, and nothing else, are taken from the
// system's.
#define OPERATOR(name) \
  void name(void);     \
  void name(void) {}
OPERATOR(_Znwm)
OPERATOR(_Znam)
OPERATOR(_ZnwmRKSt9nothrow_t)
OPERATOR(_ZnamRKSt9nothrow_t)
OPERATOR(_ZdlPv)
OPERATOR(_ZdaPv)
OPERATOR(_ZdlPvRKSt9nothrow_t)
OPERATOR(_ZdaPvRKSt9nothrow_t)
OPERATOR(_ZdlPvm)
OPERATOR(_ZdaPvm)
OPERATOR(_ZnwmSt11align_val_t)
OPERATOR(_ZnamSt11align_val_t)
OPERATOR(_ZnwmSt11align_val_tRKSt9nothrow_t)
OPERATOR(_ZnamSt11align_val_tRKSt9nothrow_t)
OPERATOR(_ZdlPvSt11align_val_t)
OPERATOR(_ZdaPvSt11align_val_t)
OPERATOR(_ZdlPvmSt11align_val_t)
OPERATOR(_ZdaPvmSt11align_val_t)
OPERATOR(_ZdlPvSt11align_val_tRKSt9nothrow_t)
OPERATOR(_ZdaPvSt11align_val_tRKSt9nothrow_t)
