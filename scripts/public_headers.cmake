# The headers for plug-ins, and the one with which programs mark what is recorded, as they are
# installed: the very files that tapool is compiled with, all in one folder, so that each includes the
# others from there. Included, this adds the target that makes them in ${CMAKE_BINARY_DIR}/include/tapool
# whenever one changes, and the rules that install them; run as a script, with TO and FROM, it makes one.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${FROM}" text)
  string(REGEX REPLACE "#include \"alloc/([a-z_]+/)*" "#include \"" text "${text}")
  file(WRITE "${TO}" "${text}")
  return()
endif()

set(tapool_public alloc/strategy.h alloc/memory.h alloc/program/heap.h alloc/base/api.h alloc/base/err.h alloc/base/every.h
  alloc/base/opt_row.h cmd/preload/mark.h)
set(tapool_public_folder ${CMAKE_BINARY_DIR}/include/tapool)
foreach(header ${tapool_public})
  get_filename_component(name ${header} NAME)
  add_custom_command(OUTPUT ${tapool_public_folder}/${name}
    COMMAND ${CMAKE_COMMAND} -D FROM=${CMAKE_SOURCE_DIR}/${header} -D TO=${tapool_public_folder}/${name}
      -P ${CMAKE_SOURCE_DIR}/scripts/public_headers.cmake
    DEPENDS ${CMAKE_SOURCE_DIR}/${header} ${CMAKE_SOURCE_DIR}/scripts/public_headers.cmake VERBATIM)
  list(APPEND tapool_public_made ${tapool_public_folder}/${name})
endforeach()
add_custom_target(public_headers ALL DEPENDS ${tapool_public_made})
install(FILES ${tapool_public_made} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapool)

# `pkg-config --cflags tapool`. The folder is reached from the file, so that the installation can move.
file(RELATIVE_PATH tapool_up "/${CMAKE_INSTALL_DATADIR}/pkgconfig" "/")
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/tapool.pc CONTENT "prefix=\${pcfiledir}/${tapool_up}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: tapool
Description: headers for strategies that tapool loads as plug-ins
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}
")
install(FILES ${CMAKE_BINARY_DIR}/tapool.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
