// SPDX-License-Identifier: MIT
// The layout that the interpreter's own headers have, in the order of python_frames_test.cpp; nothing without
// the headers of CPython 3.11.
#include <stddef.h>

#if HAS_PYTHON_HEADERS
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>

const size_t heapwright_python_layout[] = {sizeof(_PyRuntimeState),
                                           offsetof(_PyRuntimeState, _finalizing),
                                           offsetof(_PyRuntimeState, gilstate.tstate_current),
                                           offsetof(_PyRuntimeState, gilstate.autoTSSkey),
                                           offsetof(PyThreadState, cframe),
                                           offsetof(PyThreadState, root_cframe),
                                           offsetof(PyThreadState, thread_id),
                                           offsetof(_PyCFrame, current_frame),
                                           offsetof(_PyCFrame, previous),
                                           offsetof(_PyInterpreterFrame, f_code),
                                           offsetof(_PyInterpreterFrame, previous),
                                           offsetof(_PyInterpreterFrame, prev_instr),
                                           offsetof(_PyInterpreterFrame, is_entry),
                                           offsetof(PyCodeObject, co_consts),
                                           offsetof(PyCodeObject, co_names),
                                           offsetof(PyCodeObject, co_firstlineno),
                                           offsetof(PyCodeObject, co_filename),
                                           offsetof(PyCodeObject, co_qualname),
                                           offsetof(PyCodeObject, co_linetable),
                                           offsetof(PyCodeObject, co_code_adaptive),
                                           offsetof(PyBytesObject, ob_sval),
                                           offsetof(PyASCIIObject, length),
                                           offsetof(PyASCIIObject, state),
                                           sizeof(PyASCIIObject),
                                           sizeof(PyCompactUnicodeObject)};
const size_t heapwright_python_layout_count = sizeof heapwright_python_layout / sizeof(size_t);
#else
const size_t heapwright_python_layout[1] = {0};
const size_t heapwright_python_layout_count = 0;
#endif
