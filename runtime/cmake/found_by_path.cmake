# In PREFIX/lib/cmake/omptool, where find_package() looks for every PREFIX/bin that is on PATH: goes on to the module.
execute_process(COMMAND "${CMAKE_CURRENT_LIST_DIR}/../../../bin/omptool" config --cmakedir
  OUTPUT_VARIABLE _omptool_cmakedir OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE _omptool_failed)
if(_omptool_failed)
  set(omptool_FOUND FALSE)
  set(omptool_NOT_FOUND_MESSAGE "`omptool config --cmakedir` failed: ${_omptool_failed}")
else()
  include("${_omptool_cmakedir}/omptoolConfig.cmake")
endif()
