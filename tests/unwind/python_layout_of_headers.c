// SPDX-License-Identifier: MIT
// The layout that the headers of one version of CPython have, in the order of python_frames_test.cpp's
// words_of(); nothing if they are not installed. PYTHON_LAYOUT: the name, HAS_PYTHON_HEADERS: 0 or 1.
#include <stddef.h>

#define JOINED(one, other) one##other
#define WITH_COUNT(name) JOINED(name, _count)

#if HAS_PYTHON_HEADERS
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe_structs.h>
#endif

#if PY_VERSION_HEX >= 0x030d0000
#define THREAD_FRAMES current_frame
#define FRAME_CODE f_executable
#define FRAME_INSTRUCTION instr_ptr
#else
#define THREAD_FRAMES cframe
#define FRAME_CODE f_code
#define FRAME_INSTRUCTION prev_instr
#endif
#if PY_VERSION_HEX >= 0x030c0000
#define FRAME_OWNER owner
#else
#define FRAME_OWNER is_entry
#endif

const size_t PYTHON_LAYOUT[] = {offsetof(_PyRuntimeState, core_initialized),
                                offsetof(_PyRuntimeState, _finalizing),
                                offsetof(PyThreadState, thread_id),
                                offsetof(PyThreadState, THREAD_FRAMES),
                                offsetof(_PyInterpreterFrame, FRAME_CODE),
                                offsetof(_PyInterpreterFrame, previous),
                                offsetof(_PyInterpreterFrame, FRAME_OWNER),
                                offsetof(PyCodeObject, co_firstlineno),
                                offsetof(PyCodeObject, co_code_adaptive),
                                sizeof(PyASCIIObject),
                                sizeof(PyCompactUnicodeObject),
                                offsetof(_PyInterpreterFrame, FRAME_INSTRUCTION),
                                offsetof(PyCodeObject, co_consts),
                                offsetof(PyCodeObject, co_names),
                                offsetof(PyCodeObject, co_filename),
                                offsetof(PyObject, ob_type),
                                offsetof(PyBytesObject, ob_sval),
                                offsetof(PyCodeObject, co_qualname),
                                offsetof(PyASCIIObject, state),
                                offsetof(PyASCIIObject, length),
                                offsetof(PyCodeObject, co_linetable)};
const size_t WITH_COUNT(PYTHON_LAYOUT) = sizeof PYTHON_LAYOUT / sizeof(size_t);
#else
const size_t PYTHON_LAYOUT[1] = {0};
const size_t WITH_COUNT(PYTHON_LAYOUT) = 0;
#endif
