# cmake -D OUT=file.cpp -D FOLDER=tunings -P embed_tunings.cmake: the files of the folder as texts in a C++ source.
set(texts)
foreach(name Cpu Crowded Gpu)
  string(TOLOWER "${name}" file)
  file(READ "${FOLDER}/${file}.json" text)
  string(APPEND texts "const std::string_view k${name}Tuning = R\"tuning(${text})tuning\";\n")
endforeach()
file(WRITE "${OUT}" "#include \"collectives/shipped_tunings.hpp\"

namespace tutti {
${texts}}  // namespace tutti
")
