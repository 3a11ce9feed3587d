# Run with cmake -P at each build, as neither HEAD nor the index alone says whether files differ from
# the commit: writes OUT, a C file with the commit of the source tree SOURCE. A file that would stay
# the same is left alone, so that nothing is compiled again.
set(commit "")
if(EXISTS ${SOURCE}/.git) # a checkout of its own, not a folder within that of another project
  execute_process(COMMAND git --no-optional-locks describe --always --dirty
    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit ERROR_QUIET RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    set(commit "")
  endif()
endif()
set(text "extern const char tp_commit_built[];\nconst char tp_commit_built[] = \"${commit}\";\n")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT EXISTS ${OUT} OR NOT before STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
