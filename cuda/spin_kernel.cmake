# Compiles spin.cu and writes the fatbin as a C array: GENERATED.c with tp_cuda_spin_image.
#
#   tapool_spin_kernel(OUT_SOURCE NVCC)
#
# It runs at configure time, so that a build without nvcc, or with an nvcc that finds no host compiler, goes
# on without the kernel: the array then has size 0. The fatbin holds machine code for each major
# architecture that nvcc knows, and PTX of the lowest one for later architectures.
function(tapool_nvcc_targets nvcc out)
  execute_process(COMMAND ${nvcc} --list-gpu-arch OUTPUT_VARIABLE listed RESULT_VARIABLE rc ERROR_QUIET)
  string(REGEX MATCHALL "compute_[0-9]+" archs "${listed}")
  set(flags "")
  foreach(arch ${archs})
    string(REPLACE "compute_" "" number ${arch})
    if(NOT flags)
      list(APPEND flags -gencode arch=${arch},code=[${arch},sm_${number}])
    elseif(number MATCHES "0$")
      list(APPEND flags -gencode arch=${arch},code=sm_${number})
    endif()
  endforeach()
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()

function(tapool_spin_kernel out_source nvcc)
  set(cu ${CMAKE_CURRENT_SOURCE_DIR}/cuda/spin.cu)
  set(folder ${CMAKE_BINARY_DIR}/spin_kernel)
  set(fatbin ${folder}/spin.fatbin)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${cu})
  file(MAKE_DIRECTORY ${folder})
  if(nvcc AND ${cu} IS_NEWER_THAN ${fatbin})
    tapool_nvcc_targets(${nvcc} targets)
    execute_process(COMMAND ${nvcc} -fatbin ${targets} -o ${fatbin} ${cu}
      RESULT_VARIABLE rc OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT rc EQUAL 0)
      file(REMOVE ${fatbin})
      string(STRIP "${said}" said)
      message(STATUS "without the kernel of '--occupy spin': ${nvcc} failed: ${said}")
    endif()
  elseif(NOT nvcc)
    file(REMOVE ${fatbin})
    message(STATUS "without the kernel of '--occupy spin': nvcc was not found")
  endif()
  set(bytes "0")
  set(size 0)
  if(EXISTS ${fatbin})
    file(READ ${fatbin} hex HEX)
    string(LENGTH "${hex}" size)
    math(EXPR size "${size} / 2")
    string(REGEX REPLACE "(................................)" "\\1\n    " hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  endif()
  file(GENERATE OUTPUT ${folder}/spin_image.c CONTENT
"/* cuda/spin.cu, compiled. */
#include \"cuda/cuda_source.h\"

const _Alignas(16) unsigned char tp_cuda_spin_image[] = {
    ${bytes}};
const size_t tp_cuda_spin_image_size = ${size};
")
  set(${out_source} ${folder}/spin_image.c PARENT_SCOPE)
endfunction()
