# One object library per room, with the project's compile options and per-ISA flags.

set(JITNEY_ROOMS "" CACHE INTERNAL "")

string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" processor)
if(processor MATCHES "^(x86_64|amd64|i[3-6]86)$")
  set(JITNEY_ARCHITECTURE x86)
elseif(processor MATCHES "^(aarch64|arm64)$")
  set(JITNEY_ARCHITECTURE aarch64)
else()
  set(JITNEY_ARCHITECTURE other)
endif()

set(JITNEY_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 sees an overlap in every inlined std::string concatenation (its bug 105651).
  list(APPEND JITNEY_WARNINGS -Wno-restrict)
endif()

# libstdc++ 12's std::stable_sort calls a function that C++17 deprecates, and clang blames us for it.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND JITNEY_WARNINGS -Wno-deprecated-declarations)
endif()

# Release builds leave out what nothing calls: each function and object has a section of its own, and the linker drops those that
# nothing reaches. (MSVC and Apple's linker have other ways, which their release builds use unasked.)
include(CheckLinkerFlag)
set(JITNEY_DROP_UNUSED OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND NOT APPLE)
  check_linker_flag(CXX -Wl,--gc-sections JITNEY_LINKER_DROPS_SECTIONS)
  set(JITNEY_DROP_UNUSED ${JITNEY_LINKER_DROPS_SECTIONS})
endif()

# Contraction would make results differ by instruction set; see DESIGN: promises 1 and 2.
function(jitney_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE ${JITNEY_WARNINGS} -ffp-contract=off -fno-math-errno)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(JITNEY_DROP_UNUSED)
    target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
    target_link_options(${target} PRIVATE -Wl,--gc-sections)
  endif()
  if(JITNEY_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${JITNEY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${JITNEY_SANITIZE})
  endif()
endfunction()

# jitney_sources_by_isa(LIST): takes out of the list what is for other architectures, and sets the flags of the rest. A file named
# *_avx2.cpp, *_avx512.cpp, *_neon.cpp, *_neon_fp16.cpp, *_neon_dot.cpp, *_neon_i8mm.cpp, *_pclmul.cpp or *_armcrc.cpp is built with
# that instruction set, and only on its architecture.
function(jitney_sources_by_isa list)
  set(sources ${${list}})
  set(avx2_flags -mavx2 -mfma -mf16c)
  set(avx512_flags ${avx2_flags} -mavx512f -mavx512vl -mavx512bw -mavx512dq)
  set(pclmul_flags -mpclmul -msse4.1)
  set(armcrc_flags -march=armv8-a+crc)
  set(neon_flags "")
  set(neon_fp16_flags -march=armv8.2-a+fp16)
  set(neon_dot_flags -march=armv8.2-a+fp16+dotprod)
  set(neon_i8mm_flags -march=armv8.2-a+fp16+dotprod+i8mm)
  if(JITNEY_ARCHITECTURE STREQUAL "x86")
    list(FILTER sources EXCLUDE REGEX "_(neon(_[a-z0-9]+)?|armcrc)\\.cpp$")
    set(levels avx2 avx512 pclmul)
  elseif(JITNEY_ARCHITECTURE STREQUAL "aarch64")
    list(FILTER sources EXCLUDE REGEX "_(avx(2|512|vnni)|pclmul)\\.cpp$")
    set(levels neon neon_fp16 neon_dot neon_i8mm armcrc)
  else()
    list(FILTER sources EXCLUDE REGEX "_(avx(2|512|vnni)|neon(_[a-z0-9]+)?|pclmul|armcrc)\\.cpp$")
    set(levels "")
  endif()
  foreach(level IN LISTS levels)
    foreach(source IN LISTS sources)
      if(source MATCHES "_${level}\\.cpp$" AND ${level}_flags)
        set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "${${level}_flags}")
      endif()
    endforeach()
  endforeach()
  set(${list} "${sources}" PARENT_SCOPE)
endfunction()

# jitney_room(NAME [ROOM_BELOW]): sources are cpp/src/NAME/**/*.cpp, by instruction set.
function(jitney_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cpp/src/${name}/*.cpp")
  jitney_sources_by_isa(sources)
  # Only kernels repay what -O3 does to their size: it would make the library half as large again. Of the rooms that read files and
  # look after sessions, only the walk over steps is worth more than -Os. Every 64-bit ARM processor has NEON: its portable kernels run
  # only where they are asked for by name.
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    foreach(source IN LISTS sources)
      if(source MATCHES "src/(graph|runtime)/" AND NOT source MATCHES "/executor\\.cpp$")
        set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS -Os)
      elseif(JITNEY_ARCHITECTURE STREQUAL "aarch64" AND source MATCHES "_scalar\\.cpp$")
        set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS -Os)
      elseif(NOT source MATCHES "/kernels/")
        set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS -O2)
      endif()
    endforeach()
  endif()
  add_library(jitney_${name} OBJECT ${sources})
  jitney_compile_options(jitney_${name})
  target_compile_definitions(jitney_${name} PRIVATE JITNEY_BUILDING JITNEY_VERSION="${PROJECT_VERSION}")
  target_include_directories(jitney_${name} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}/cpp/include" "${CMAKE_CURRENT_SOURCE_DIR}/cpp/src")
  foreach(below IN LISTS ARGN)
    target_link_libraries(jitney_${name} PUBLIC jitney_${below})
  endforeach()
  set(JITNEY_ROOMS ${JITNEY_ROOMS} ${name} CACHE INTERNAL "")
endfunction()
