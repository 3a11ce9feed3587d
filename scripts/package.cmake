# The package for Debian and Ubuntu: `cpack -G DEB` in a build folder (scripts/release.sh does it).
# Dependencies are those that the programs and libraries ask for, by dpkg-shlibdeps. Included, this
# sets what CPack is told; CPack then runs it as a script over the files that were installed for the
# package, to bring them to where Debian has them.
if(CPACK_TEMPORARY_DIRECTORY)
  set(share ${CPACK_TEMPORARY_DIRECTORY}/usr/share)
  file(RENAME ${share}/doc/tapool/LICENSE ${share}/doc/tapool/copyright)
  file(RENAME ${share}/doc/tapool/CHANGELOG.md ${share}/doc/tapool/changelog)
  file(GLOB pages ${share}/man/man*/*)
  execute_process(COMMAND gzip -9n ${pages} ${share}/doc/tapool/changelog COMMAND_ERROR_IS_FATAL ANY)
  if(EXISTS ${share}/zsh/site-functions)
    file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
  endif()
  return()
endif()

set(CPACK_PACKAGE_VENDOR "the tapool authors")
set(CPACK_PACKAGE_CONTACT "${CPACK_PACKAGE_VENDOR}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "replay allocation traces through memory allocators")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "tapool replays a recorded allocation trace (of a program's malloc or of a GPU)
through allocator strategies and reports the time of each operation, peak memory
and fragmentation. It says why a GPU ran out of memory and which settings would
have helped, compares malloc libraries on a recorded program, and fails a CI build
that got slower or needs more memory.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "valgrind")   # counts instructions
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3, man-db") # record_torch.py; the man pages
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_FILE})
include(CPack)
