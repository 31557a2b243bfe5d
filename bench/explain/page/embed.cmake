# Writes PARTS, a C++ file with the text of the page's files: cmake -D PARTS=... -D HTML=... -D CSS=... -D SCRIPTS=a,b,...
# -P embed.cmake
set(source "#include \"bench/explain/page/parts.hpp\"\n\nnamespace tutti::explain::parts {\n")

function(add_text name)
  set(text)
  foreach(file IN LISTS ARGN)
    file(READ "${file}" one)
    # Indentation and comments are for who reads the sources; a page is to be small.
    string(REGEX REPLACE "\n +" "\n" one "\n${one}")
    string(REGEX REPLACE "\n//[^\n]*" "" one "${one}")
    string(STRIP "${one}" one)
    string(APPEND one "\n")
    string(APPEND text "${one}")
  endforeach()
  if(text MATCHES "\\)embedded\"")
    message(FATAL_ERROR "the text of ${name} has the mark that ends a literal")
  endif()
  string(APPEND source "\nconst std::string_view ${name} = R\"embedded(${text})embedded\";\n")
  set(source "${source}" PARENT_SCOPE)
endfunction()

string(REPLACE "," ";" scripts "${SCRIPTS}")
add_text(page_html "${HTML}")
add_text(page_css "${CSS}")
add_text(script ${scripts})
string(APPEND source "\n}  // namespace tutti::explain::parts\n")
file(WRITE "${PARTS}" "${source}")
