# Finds the libraries that tapool links with, and makes a target tapool_NAME of each.
#
#     TAPOOL_CJSON_PREFIX, TAPOOL_NETTLE_PREFIX, ...   DIR  of this one library
#     TAPOOL_DEPENDENCIES_PREFIX                       DIR  of those that are in it
#     neither                                          pkg-config, else the folders of the system
#
# A DIR holds include/ and lib/ (or lib64/, lib/x86_64-linux-gnu/, or all of it below usr/), as an
# installation or an unpacked package leaves them: neither a package manager nor pkg-config is
# asked. What a prefix of its own does not hold is an error; what the common one lacks is looked for
# as if it had not been named. With TAPOOL_STATIC_DEPENDENCIES an archive comes before a shared library.
#
# Known weakness: versions are not looked at in a DIR.

set(TAPOOL_DEPENDENCIES_PREFIX "" CACHE PATH "where to look first for cJSON, nettle, libinih, zlib, zstd, SQLite, cmocka")
option(TAPOOL_STATIC_DEPENDENCIES "link archives (.a) where there are any" OFF)
find_package(PkgConfig QUIET)

set(tapool_lib_folders lib lib64 usr/lib usr/lib64)
foreach(triplet ${CMAKE_LIBRARY_ARCHITECTURE} x86_64-linux-gnu aarch64-linux-gnu)
  list(APPEND tapool_lib_folders lib/${triplet} usr/lib/${triplet})
endforeach()
list(REMOVE_DUPLICATES tapool_lib_folders)

# Sets tapool_header_dir and tapool_library, both "" unless both are there. Further arguments go to
# find_path and find_library.
function(tapool_look header library)
  set(names ${library} lib${library}.so)
  if(TAPOOL_STATIC_DEPENDENCIES)
    list(PREPEND names lib${library}.a)
  endif()
  # Looked for anew each time: CMake keeps what it finds in its cache, and until 3.21 cannot be told not to.
  foreach(name tapool_looked_dir tapool_looked_lib)
    unset(${name} CACHE)
  endforeach()
  find_path(tapool_looked_dir NAMES ${header} PATH_SUFFIXES include usr/include ${ARGN})
  find_library(tapool_looked_lib NAMES ${names} PATH_SUFFIXES ${tapool_lib_folders} NAMES_PER_DIR ${ARGN})
  if(tapool_looked_dir AND tapool_looked_lib)
    set(tapool_header_dir "${tapool_looked_dir}" PARENT_SCOPE)
    set(tapool_library "${tapool_looked_lib}" PARENT_SCOPE)
  else()
    set(tapool_header_dir "" PARENT_SCOPE)
    set(tapool_library "" PARENT_SCOPE)
  endif()
endfunction()

# The same in a prefix. Where cJSON.h was copied from its source it lies in include/ itself; the code
# says cjson/cJSON.h.
function(tapool_look_in prefix header library)
  get_filename_component(prefix "${prefix}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
  get_filename_component(plain ${header} NAME)
  tapool_look(${header} ${library} PATHS "${prefix}" NO_DEFAULT_PATH)
  if(NOT tapool_library AND NOT plain STREQUAL header)
    tapool_look(${plain} ${library} PATHS "${prefix}" NO_DEFAULT_PATH)
    if(tapool_library)
      file(WRITE ${CMAKE_BINARY_DIR}/dependencies/${header}
        "#include \"${tapool_header_dir}/${plain}\"\n")
      set(tapool_header_dir ${CMAKE_BINARY_DIR}/dependencies)
    endif()
  endif()
  set(tapool_header_dir "${tapool_header_dir}" PARENT_SCOPE)
  set(tapool_library "${tapool_library}" PARENT_SCOPE)
endfunction()

function(tapool_use_library target header_dir library)
  message(STATUS "${target}: ${library}")
  if(NOT header_dir STREQUAL "/usr/include")
    target_include_directories(${target} SYSTEM INTERFACE ${header_dir})
  endif()
  target_link_libraries(${target} INTERFACE ${library})
  if(library MATCHES "\\.a$") # an archive does not say what it needs
    target_link_libraries(${target} INTERFACE ${CMAKE_DL_LIBS} Threads::Threads)
  endif()
endfunction()

# tapool_dependency(name TITLE pkg-config-module header library Debian-package)
function(tapool_dependency name title module header library package)
  string(TOUPPER TAPOOL_${name}_PREFIX option)
  set(${option} "" CACHE PATH "where ${title} is")
  set(layout "include/${header} and lib${library}.so or .a in lib/, lib64/ or lib/${CMAKE_LIBRARY_ARCHITECTURE}/")
  add_library(tapool_${name} INTERFACE)
  set(tapool_library "")
  if(${option})
    tapool_look_in("${${option}}" ${header} ${library})
    if(NOT tapool_library)
      message(FATAL_ERROR "${title} is not in ${option}=${${option}}: looked there for ${layout}")
    endif()
  elseif(TAPOOL_DEPENDENCIES_PREFIX)
    tapool_look_in("${TAPOOL_DEPENDENCIES_PREFIX}" ${header} ${library})
  endif()
  if(NOT tapool_library AND PKG_CONFIG_FOUND AND NOT TAPOOL_STATIC_DEPENDENCIES)
    pkg_check_modules(PC_${name} QUIET IMPORTED_TARGET ${module})
    if(PC_${name}_FOUND)
      target_link_libraries(tapool_${name} INTERFACE PkgConfig::PC_${name})
      return()
    endif()
  endif()
  if(NOT tapool_library)
    tapool_look(${header} ${library})
  endif()
  if(NOT tapool_library)
    if(TAPOOL_DEPENDENCIES_PREFIX)
      set(in_prefix " nor in TAPOOL_DEPENDENCIES_PREFIX=${TAPOOL_DEPENDENCIES_PREFIX}")
    endif()
    message(FATAL_ERROR "${title} was not found: neither by pkg-config (${module}) nor in the folders "
      "of the system${in_prefix}. On Debian and Ubuntu: apt-get install ${package}. Without a package "
      "manager: -D${option}=DIR, or -DTAPOOL_DEPENDENCIES_PREFIX=DIR for all libraries, where DIR has "
      "${layout}")
  endif()
  tapool_use_library(tapool_${name} "${tapool_header_dir}" "${tapool_library}")
endfunction()
