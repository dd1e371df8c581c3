# Of what is compiled only for tests, the compiler reads eight files as one, since what
# they include is most of its work: all of src/ under a sanitizer (CMakePresets.json),
# and the heap that counts its steps. What ships is compiled file by file.
set_target_properties(heapwright_heap_counted PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
target_compile_options(heapwright_heap_counted PRIVATE -Wno-shadow)

# Not those that define a name of another file of their folder.
foreach(file
    analyze/mmap_threshold analyze/release_runs analyze/resident_pages
    attach/recording_observer attach/target_maps
    collect/process_recording collect/program_check collect/residency_scanner collect/session_memory
    heap/base/settings heap/front/hardened heap/slabs/dropped_blocks heap/slabs/partial_pool
    heap/threads/heap_object heap/threads/slab_events
    replay/cached_buffers replay/change replay/recorded_order replay/time_sums replay/touched_pages)
  string(REGEX MATCH "^[a-z]+" folder ${file})
  if(folder IN_LIST folders)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/${file}.cpp DIRECTORY ${PROJECT_SOURCE_DIR}/src/${folder}
      PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endforeach()
