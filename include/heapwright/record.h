/* SPDX-License-Identifier: MIT
 * Starts and stops the recording of this program's heap calls from within.
 *
 * The functions are weak: they exist under `heapwright record`, and otherwise
 * each call costs one comparison. Run `heapwright record --paused` to record
 * only between start and stop. Thread-safe; a call affects all threads and all
 * followed child processes. */
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
