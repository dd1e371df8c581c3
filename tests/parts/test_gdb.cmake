# Prints each part in gdb; GDB, PROGRAM and PRINTERS are paths.
set(names held_inline on_heap compact_inline compact_on_heap memory pool cache)
set(commands -ex "source ${PRINTERS}" -ex "break look" -ex run -ex up)
foreach(name ${names})
  list(APPEND commands -ex "print ${name}")
endforeach()
execute_process(COMMAND ${GDB} -nx -batch -iex "set auto-load off" -iex "set debuginfod enabled off"
  ${commands} ${PROGRAM} OUTPUT_VARIABLE out ERROR_VARIABLE err)
foreach(expected
    "length 3, capacity 4 (inline) = {1, 2, 3}" "length 5, capacity 5 (heap) = {5, 6, 7, 8, 9}"
    "length 1, capacity 1 (inline) = {11}" "(heap) = {21, 22, 23}" "arena, 100 bytes requested, 4096 held"
    "object_pool, 0 idle, 1 outstanding" "buffer_cache, 1 hits, 1 misses, 104 retained_bytes")
  string(FIND "${out}" "${expected}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "not printed: ${expected}\n${out}\n${err}")
  endif()
endforeach()
