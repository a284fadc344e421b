# find_package(omptool): the runtime as a library, and functions that make device images and put them into targets.
# docs/build-systems.md describes them.
#
#   omptool::omptarget         the runtime and omptarget.h, and omptool::target, the one of the proposal with libtarget.h
#   OMPTOOL_EXECUTABLE         the command that makes images
#   omptool_lower()            LLVM IR to the device image of a triple
#   omptool_add_images()       device images into an executable or a shared library
#   omptool_check_tests()      tests that run under the checker of mappings
#   omptool_install_runtime()  the runtime and its plugins into a folder of what is installed
#
# With OMPTOOL_NO_RPATH, set before, no program gets the folder of the runtime into its RUNPATH.
if(CMAKE_VERSION VERSION_LESS 3.22)
  set(omptool_FOUND FALSE)
  set(omptool_NOT_FOUND_MESSAGE "omptool needs CMake 3.22 or later")
  return()
endif()
cmake_policy(VERSION 3.22)  # whatever the project's are; CMake puts those back

get_filename_component(omptool_root "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
# Beside Python's packages: in PREFIX/bin of PREFIX/lib/pythonX.Y/site-packages, or in what `pip --target` was given.
find_program(OMPTOOL_EXECUTABLE omptool
  HINTS "${omptool_root}/../../../../../bin" "${omptool_root}/../../bin" NO_CMAKE_PATH NO_CMAKE_ENVIRONMENT_PATH
  DOC "The command omptool")
if(NOT OMPTOOL_EXECUTABLE)
  set(omptool_FOUND FALSE)
  set(omptool_NOT_FOUND_MESSAGE "the command omptool was not found: set OMPTOOL_EXECUTABLE")
  return()
endif()

function(_omptool_library name library)
  if(TARGET omptool::${name})
    return()
  endif()
  if(OMPTOOL_NO_RPATH)  # CMake adds the folders that it knows of: of files and of link directories
    add_library(omptool::${name} INTERFACE IMPORTED)
    set_target_properties(omptool::${name} PROPERTIES
      IMPORTED_LIBNAME "${library}"
      INTERFACE_LINK_OPTIONS "-L${omptool_root}/lib")
  else()
    add_library(omptool::${name} SHARED IMPORTED)
    set_target_properties(omptool::${name} PROPERTIES
      IMPORTED_LOCATION "${omptool_root}/lib/lib${library}.so"
      IMPORTED_SONAME "lib${library}.so")
  endif()
  set_target_properties(omptool::${name} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${omptool_root}/include")
endfunction()
_omptool_library(omptarget omptarget)
_omptool_library(target target)

include("${CMAKE_CURRENT_LIST_DIR}/omptoolImages.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/omptoolRuntime.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/omptoolChecks.cmake")
