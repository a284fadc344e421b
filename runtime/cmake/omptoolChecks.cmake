# omptool_check_tests(TARGET... [FULL] [BASELINE FILE]): tests that run these executables run them under the checker of
# mappings (`omptool run --check`), and fail if it finds an error. BASELINE has findings that are known. It comes before
# add_test(), which must name the target as its COMMAND.
function(omptool_check_tests)
  cmake_parse_arguments(PARSE_ARGV 0 asked "FULL" "BASELINE" "")
  if(NOT asked_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "omptool_check_tests: names no target")
  endif()
  set(command "${OMPTOOL_EXECUTABLE}" run --check --check-error)
  if(asked_FULL)
    list(TRANSFORM command REPLACE "^--check$" "--check=full")
  endif()
  if(asked_BASELINE)
    get_filename_component(baseline "${asked_BASELINE}" ABSOLUTE)
    list(APPEND command --baseline "${baseline}")
  endif()
  # Before 3.29 CMake knows no other launcher of tests than the emulator, which it uses in native builds, too.
  set(property CROSSCOMPILING_EMULATOR)
  if(NOT CMAKE_VERSION VERSION_LESS 3.29)
    set(property TEST_LAUNCHER)
  endif()
  set_target_properties(${asked_UNPARSED_ARGUMENTS} PROPERTIES ${property} "${command};--")
endfunction()
