# The compiler reads eight files as one, since what they include is two fifths of its
# work: in most of the programs, in all of src/ under a sanitizer (CMakePresets.json), and
# in the heap that counts its steps. What runs inside of a user's program, the heap and the
# recorder, is compiled file by file, as it is measured; so is the Python module.
set(together "")
foreach(folder order trace symbolize collect analyze attach replay heap_counted)
  if(TARGET heapwright_${folder})
    list(APPEND together heapwright_${folder})
  endif()
endforeach()
# In a fresh clone's first build, the compiler's time is what one waits for: two units for two cores.
set(batch_size 8)
if(HEAPWRIGHT_CORE)
  set(batch_size 32)
endif()
set_target_properties(${together} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch_size})
# There what takes long to compile is optimized less; what runs inside of a user's program never is.
if(HEAPWRIGHT_CORE)
  foreach(folder symbolize collect analyze)
    target_compile_options(heapwright_${folder} PRIVATE -O1)
  endforeach()
endif()
if(TARGET heapwright_analyze)  # a class whose members' types are of its own file warns where that is included
  target_compile_options(heapwright_analyze PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
if(TARGET heapwright_heap_counted)
  target_compile_options(heapwright_heap_counted PRIVATE -Wno-shadow)
endif()

# Not those that define a name of another file of their folder, or in larger units of another file in these.
set(alone "")
if(HEAPWRIGHT_CORE)
  set(alone analyze/held collect/changed_pages collect/heap_snapshot collect/processor_sampler)
endif()
foreach(file
    ${alone}
    analyze/resident_pages
    attach/recording_observer attach/target_maps
    collect/process_recording collect/residency_scanner collect/session_memory
    heap/base/settings heap/front/hardened heap/slabs/dropped_blocks heap/slabs/partial_pool
    heap/threads/heap_object heap/threads/slab_events
    replay/cached_buffers replay/change replay/recorded_order replay/time_sums replay/touched_pages)
  string(REGEX MATCH "^[a-z]+" folder ${file})
  if(folder IN_LIST folders)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/${file}.cpp DIRECTORY ${PROJECT_SOURCE_DIR}/src/${folder}
      PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endforeach()
