# part(<name> NEEDS <parts declared above> LINK <libraries>)
#   One folder under src/ = one static library = one namespace.
#   * Headers sit beside sources and are included as "<part>/<file>.h".
#   * A part sees only the headers of what it NEEDS: its include root is a folder of its own in the
#     build tree that holds one link, so a forbidden #include does not compile.
#   * A part can only NEED parts declared above it, so a cycle cannot be written down.
#   * <file>_test.cc goes into <name>_test, <file>_fuzz.cc into a fuzz target of its own,
#     testdata/ is found through PHALANX_SOURCE_DIR.
function(part name)
  cmake_parse_arguments(P "" "" "NEEDS;LINK" ${ARGN})
  foreach(need IN LISTS P_NEEDS)
    if(NOT TARGET part_${need})
      message(FATAL_ERROR "${name} may not need '${need}': declare lower parts first")
    endif()
  endforeach()

  set(root ${CMAKE_BINARY_DIR}/see/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/src/${name} ${root}/${name} SYMBOLIC)

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/${name}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(fuzzers ${sources})
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz)\\.cc$")

  if(sources)
    add_library(part_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(part_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(part_${name} ${scope} ${root})
  list(TRANSFORM P_NEEDS PREPEND part_)
  target_link_libraries(part_${name} ${scope} ${P_NEEDS} ${P_LINK})

  if(tests AND PHALANX_TESTS)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE part_${name} GTest::gtest GTest::gtest_main)
    target_compile_options(${name}_test PRIVATE -O0)  # it runs for moments, and compiles in half the time
    target_compile_definitions(${name}_test PRIVATE PHALANX_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60)
  endif()

  if(PHALANX_FUZZ)
    foreach(fuzzer IN LISTS fuzzers)
      get_filename_component(stem ${fuzzer} NAME_WE)
      add_executable(${name}_${stem} ${fuzzer})
      target_link_libraries(${name}_${stem} PRIVATE part_${name})
      target_link_options(${name}_${stem} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()
