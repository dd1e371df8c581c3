# PROGRAM, with LIBRARY preloaded, must print the address of the block it
# misuses, end by abort() and say exactly EXPECTED on stderr. There BLOCK stands
# for that address, INSIDE for any other.
set(ENV{LD_PRELOAD} ${LIBRARY})
set(ENV{HEAPWRIGHT_HEAP_HARDENED} ${HARDENED})
set(ENV{HEAPWRIGHT_HEAP_MAINTENANCE} manual)
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
string(STRIP "${out}" address)
string(REPLACE "BLOCK" "${address}" expected "${EXPECTED}\n")
string(REGEX REPLACE "^(heapwright: free of )0x[0-9a-f]+" "\\1INSIDE" said "${err}")
if(NOT err STREQUAL expected AND NOT said STREQUAL expected)
  message(FATAL_ERROR "expected: ${expected}said: ${err}status: ${status}")
endif()
if(NOT status MATCHES "Subprocess aborted|SIGABRT|Aborted")
  message(FATAL_ERROR "it ended by ${status}, not by abort()")
endif()
