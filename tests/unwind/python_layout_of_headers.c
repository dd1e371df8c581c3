// SPDX-License-Identifier: MIT
// The layout that the headers of one version of CPython have, in the order of python_names_test.cpp's
// words_of(); nothing if they are not installed. PYTHON_LAYOUT: the name, HAS_PYTHON_HEADERS: 0 or 1.
#include <stddef.h>

#define JOINED(one, other) one##other
#define WITH_COUNT(name) JOINED(name, _count)

#if HAS_PYTHON_HEADERS
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe_structs.h>
#endif

// The innermost frame, or of 3.11 and 3.12 what leads to it.
#if PY_VERSION_HEX >= 0x030d0000
#define THREAD_FRAMES offsetof(PyThreadState, current_frame)
#elif PY_VERSION_HEX >= 0x030b0000
#define THREAD_FRAMES offsetof(PyThreadState, cframe)
#else
#define THREAD_FRAMES offsetof(PyThreadState, frame)
#endif

#if PY_VERSION_HEX >= 0x030c0000
#define THREAD_CFRAME 0
#define ROOT_CFRAME 0
#define CFRAME_CURRENT 0
#define CFRAME_PREVIOUS 0
#define FRAME_OWNER offsetof(_PyInterpreterFrame, owner)
#elif PY_VERSION_HEX >= 0x030b0000
#define THREAD_CFRAME 0
#define ROOT_CFRAME offsetof(PyThreadState, root_cframe)
#define CFRAME_CURRENT offsetof(_PyCFrame, current_frame)
#define CFRAME_PREVIOUS offsetof(_PyCFrame, previous)
#define FRAME_OWNER offsetof(_PyInterpreterFrame, is_entry)
#elif PY_VERSION_HEX >= 0x030a0000
#define THREAD_CFRAME offsetof(PyThreadState, cframe)
#define ROOT_CFRAME offsetof(PyThreadState, root_cframe)
#define CFRAME_CURRENT 0
#define CFRAME_PREVIOUS offsetof(CFrame, previous)
#define FRAME_OWNER 0
#else
#define THREAD_CFRAME 0
#define ROOT_CFRAME 0
#define CFRAME_CURRENT 0
#define CFRAME_PREVIOUS 0
#define FRAME_OWNER 0
#endif

#if PY_VERSION_HEX >= 0x030d0000
#define FRAME_CODE offsetof(_PyInterpreterFrame, f_executable)
#define FRAME_INSTRUCTION offsetof(_PyInterpreterFrame, instr_ptr)
#elif PY_VERSION_HEX >= 0x030b0000
#define FRAME_CODE offsetof(_PyInterpreterFrame, f_code)
#define FRAME_INSTRUCTION offsetof(_PyInterpreterFrame, prev_instr)
#else
#define FRAME_CODE offsetof(PyFrameObject, f_code)
#define FRAME_INSTRUCTION offsetof(PyFrameObject, f_lasti)
#endif

#if PY_VERSION_HEX >= 0x030b0000
#define FRAME_PREVIOUS offsetof(_PyInterpreterFrame, previous)
#define CODE_NAME offsetof(PyCodeObject, co_qualname)
#define CODE_INSTRUCTIONS offsetof(PyCodeObject, co_code_adaptive)
#else
#define FRAME_PREVIOUS offsetof(PyFrameObject, f_back)
#define CODE_NAME offsetof(PyCodeObject, co_name)
#define CODE_INSTRUCTIONS 0
#endif
#if PY_VERSION_HEX >= 0x030a0000
#define CODE_LINES offsetof(PyCodeObject, co_linetable)
#else
#define CODE_LINES offsetof(PyCodeObject, co_lnotab)
#endif

const size_t PYTHON_LAYOUT[] = {offsetof(_PyRuntimeState, core_initialized),
                                offsetof(_PyRuntimeState, _finalizing),
                                offsetof(PyThreadState, thread_id),
                                THREAD_FRAMES,
                                THREAD_CFRAME,
                                ROOT_CFRAME,
                                CFRAME_CURRENT,
                                CFRAME_PREVIOUS,
                                FRAME_CODE,
                                FRAME_PREVIOUS,
                                FRAME_OWNER,
                                FRAME_INSTRUCTION,
                                offsetof(PyCodeObject, co_consts),
                                offsetof(PyCodeObject, co_names),
                                offsetof(PyCodeObject, co_firstlineno),
                                offsetof(PyCodeObject, co_filename),
                                CODE_NAME,
                                CODE_LINES,
                                CODE_INSTRUCTIONS,
                                sizeof(PyASCIIObject),
                                sizeof(PyCompactUnicodeObject),
                                offsetof(PyObject, ob_type),
                                offsetof(PyBytesObject, ob_sval),
                                offsetof(PyASCIIObject, state),
                                offsetof(PyASCIIObject, length)};
const size_t WITH_COUNT(PYTHON_LAYOUT) = sizeof PYTHON_LAYOUT / sizeof(size_t);
#else
const size_t PYTHON_LAYOUT[1] = {0};
const size_t WITH_COUNT(PYTHON_LAYOUT) = 0;
#endif
