# With TAPOOL_JOINED a target's files are compiled together, a few at a time: tests of a build that
# nobody installs are ready in half the time. It needs python3, and -Wshadow is off.
option(TAPOOL_JOINED "compile files together, by scripts/join_sources.py" OFF)

# Replaces the sources of a target. Files with definitions of their own stay alone.
function(tapool_join target) # [--tests]
  if(NOT TAPOOL_JOINED)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(alone "")
  set(together "")
  foreach(source ${sources})
    get_filename_component(source ${source} ABSOLUTE)
    get_source_file_property(own ${source} COMPILE_DEFINITIONS)
    string(FIND ${source} ${CMAKE_BINARY_DIR}/ made) # 0 inside: it may be written after this has run
    if(own OR made EQUAL 0)
      list(APPEND alone ${source})
    else()
      list(APPEND together ${source})
    endif()
  endforeach()
  set(script ${CMAKE_SOURCE_DIR}/scripts/join_sources.py)
  execute_process(COMMAND python3 ${script} ${ARGN} ${CMAKE_CURRENT_BINARY_DIR}/joined/${target} ${together}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE joined COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "\n" ";" joined "${joined}")
  set_target_properties(${target} PROPERTIES SOURCES "${joined}${alone}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script} ${together}) # names may clash now
endfunction()
