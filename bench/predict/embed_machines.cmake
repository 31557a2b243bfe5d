# cmake -D OUT=file.cpp -D "FILES=a.json;b.json" -P embed_machines.cmake: the files as texts in a C++ source.
set(list)
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" text)
  string(APPEND list "    {\"${name}\", R\"machine(${text})machine\"},\n")
endforeach()
file(WRITE "${OUT}" "#include \"bench/predict/shipped_machines.hpp\"

namespace tutti::predict {
namespace {
constexpr ShippedMachine kFiles[] = {
${list}};
}  // namespace
const std::span<const ShippedMachine> kShippedMachines = kFiles;
}  // namespace tutti::predict
")
