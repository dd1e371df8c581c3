# PROGRAM, with LIBRARY preloaded, must print the address of the block it
# misuses, end by abort() and say exactly EXPECTED on stderr. There BLOCK stands
# for that address, INSIDE for any other, USABLE for the usable size that the
# program printed behind the address.
set(ENV{LD_PRELOAD} ${LIBRARY})
set(ENV{HEAPWRIGHT_HEAP_HARDENED} ${HARDENED})
set(ENV{HEAPWRIGHT_HEAP_MAINTENANCE} manual)
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
string(REGEX MATCH "^0x[0-9a-f]+" address "${out}")
string(REGEX REPLACE "^0x[0-9a-f]+ ?([0-9]*)\n$" "\\1" usable "${out}")
string(REPLACE "BLOCK" "${address}" expected "${EXPECTED}\n")
string(REPLACE "USABLE" "${usable}" expected "${expected}")
string(REGEX REPLACE "^(heapwright: [a-z]+ of )0x[0-9a-f]+(,)" "\\1INSIDE," said "${err}")
if(NOT err STREQUAL expected AND NOT said STREQUAL expected)
  message(FATAL_ERROR "expected: ${expected}said: ${err}status: ${status}")
endif()
if(NOT status MATCHES "Subprocess aborted|SIGABRT|Aborted")
  message(FATAL_ERROR "it ended by ${status}, not by abort()")
endif()
