# tutti_unknown_entries(LIBRARY): adds to a stand-in's library every entry point in its folder's entry_points.txt, which
# is what nm -D --defined-only lists of the toolkit's library. Those that nobody wrote abort by name.
set(TUTTI_UNKNOWN_ENTRY_FOLDER "${CMAKE_CURRENT_LIST_DIR}")
function(tutti_unknown_entries library)
  file(STRINGS entry_points.txt entry_points)
  set(definitions "")
  foreach(name IN LISTS entry_points)
    string(APPEND definitions
           "__attribute__((weak)) void ${name}() { tutti::emulated::unknown_entry(\"${name}\"); }\n")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/unknown_entries.cpp")
  configure_file("${TUTTI_UNKNOWN_ENTRY_FOLDER}/unknown_entry.cpp.in" "${source}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS entry_points.txt)
  target_sources(${library} PRIVATE "${source}" "${TUTTI_UNKNOWN_ENTRY_FOLDER}/unknown_entry.cpp")
endfunction()
