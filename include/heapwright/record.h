/* SPDX-License-Identifier: MIT
 * Switch the recording of this program's heap calls on and off from within.
 *
 * The functions exist when the program runs under `heapwright record` and are
 * absent otherwise; being weak they cost one comparison then. Start the
 * recording with `--paused` to record only what lies between the calls.
 * Thread-safe; the switch holds for every thread and followed child. */
#ifndef HEAPWRIGHT_RECORD_H
#define HEAPWRIGHT_RECORD_H

#ifdef __cplusplus
extern "C" {
#define HEAPWRIGHT_NOEXCEPT noexcept
#else
#define HEAPWRIGHT_NOEXCEPT
#endif

__attribute__((weak)) void heapwright_record_start(void) HEAPWRIGHT_NOEXCEPT;
__attribute__((weak)) void heapwright_record_stop(void) HEAPWRIGHT_NOEXCEPT;
__attribute__((weak)) int heapwright_record_is_active(void) HEAPWRIGHT_NOEXCEPT;

static inline void heapwright_start_recording(void) {
  if (heapwright_record_start) heapwright_record_start();
}

static inline void heapwright_stop_recording(void) {
  if (heapwright_record_stop) heapwright_record_stop();
}

#ifdef __cplusplus
}
#endif
#endif
