# HEAPWRIGHT_OLDER_SYSTEM is the root of an older system, which tools/older_system.py makes. What is shipped is linked
# to the C library in it, so it starts there and on all later ones. Objects are compiled as ever, to the same code:
# what they use and the older library lacks fails the link, or is in newer_functions.c. The recorder and the counter
# are linked to no C library and stay as they are. docs/decisions/0039-older-systems.md has the reasons.
set(folder ${HEAPWRIGHT_OLDER_SYSTEM}/usr/lib/x86_64-linux-gnu)
# The collector has this system's elfutils inside: that of Debian 11 lacks dwfl_frame_reg. A module cannot have it, as
# it is not compiled for that, and takes the older one.
set(HEAPWRIGHT_ELFUTILS_OF_COLLECTOR "")
foreach(name dw elf lzma bz2 z)
  find_library(HEAPWRIGHT_STATIC_${name} lib${name}.a REQUIRED)
  list(APPEND HEAPWRIGHT_ELFUTILS_OF_COLLECTOR ${HEAPWRIGHT_STATIC_${name}})
endforeach()
set(HEAPWRIGHT_ELFUTILS_OF_MODULE ${folder}/libdw.so ${folder}/libelf.so)

# After all targets.
function(heapwright_link_to_older_system)
  set(root ${HEAPWRIGHT_OLDER_SYSTEM})
  set(folder lib/x86_64-linux-gnu)
  # Its start files too: those of glibc 2.34 leave the constructors of a program to the library. Its own copy of libgcc_s
  # is linked to, as the compiler's wants glibc 2.35 itself.
  set(of_older_system
    --sysroot=${root} -B${root}/usr/${folder} -L${root}/usr/${folder} -L${root}/${folder} -Wl,--as-needed)

  foreach(target heapwright heapwright-apply)
    if(TARGET ${target})
      target_link_options(${target} PRIVATE ${of_older_system})
      target_link_libraries(${target} PRIVATE pthread)
    endif()
  endforeach()

  if(TARGET heapwright-collect)
    add_library(heapwright_newer_functions OBJECT ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/newer_functions.c)
    target_compile_options(heapwright_newer_functions PRIVATE -O2 -ffunction-sections)
    # The C++ library of this compiler, inside; what is not used of it and of newer_functions.c is dropped.
    foreach(target heapwright-collect heapwright-attach heapwright-lab heapwright-replay _native)
      if(TARGET ${target})
        target_link_options(${target} PRIVATE ${of_older_system} -static-libstdc++ -Wl,--gc-sections)
        target_link_libraries(${target} PRIVATE heapwright_newer_functions ${CMAKE_DL_LIBS} pthread m)
      endif()
    endforeach()
    if(TARGET _native)  # within Python there are other modules with a C++ library
      target_link_options(_native PRIVATE -Wl,--exclude-libs,ALL)
    endif()
  endif()

  # What measures allocators must call their `operator new`, which a program that has one inside would not.
  if(TARGET heapwright-lab)
    add_library(heapwright_operators SHARED ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/operators.c)
    target_compile_options(heapwright_operators PRIVATE -fno-builtin)
    target_link_options(heapwright_operators PRIVATE
      -nostdlib -Wl,-soname,libstdc++.so.6 -Wl,--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/operators.map)
    set_target_properties(heapwright_operators PROPERTIES
      NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/operators
      LINK_DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/operators.map)
    foreach(target heapwright-lab heapwright-replay)
      target_link_libraries(${target} PRIVATE $<TARGET_FILE:heapwright_operators>)
      add_dependencies(${target} heapwright_operators)
    endforeach()
  endif()
endfunction()
