# Completions and man pages. The binary itself writes them, from the tables of its help, each time it
# was linked: there is no copy that could be out of date. Left out where it may not run here, across
# architectures and under sanitizers: cmake --install then has none.
set(tapool_generated
  "bash|tapool.bash|${CMAKE_INSTALL_DATADIR}/bash-completion/completions|tapool"
  "zsh|_tapool|${CMAKE_INSTALL_DATADIR}/zsh/site-functions|_tapool"
  "man|tapool.1|${CMAKE_INSTALL_MANDIR}/man1|tapool.1"
  "man-trace|tapool-trace.5|${CMAKE_INSTALL_MANDIR}/man5|tapool-trace.5")

if(CMAKE_CROSSCOMPILING OR TAPOOL_SANITIZE OR TAPOOL_COVERAGE)
  message(STATUS "without completions and man pages: tapool may not run in this build")
else()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)
  foreach(row ${tapool_generated})
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 kind)
    list(GET row 1 file)
    list(GET row 2 folder)
    list(GET row 3 name)
    list(APPEND tapool_generate COMMAND tapool __generate ${kind} ${CMAKE_BINARY_DIR}/generated/${file})
    install(FILES ${CMAKE_BINARY_DIR}/generated/${file} DESTINATION ${folder} RENAME ${name})
  endforeach()
  add_custom_command(TARGET tapool POST_BUILD ${tapool_generate} VERBATIM)
endif()
