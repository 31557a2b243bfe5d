#include "tests/emulator/kernels/kernel_code.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "tests/emulator/ptx/fatbin.hpp"

namespace tutti::emulator {

KernelCode::KernelCode(const std::vector<std::string>& files, int architecture) {
  for (const std::string& file : files) {
    if (file.ends_with(".ptx")) {
      std::ifstream in(file, std::ios::binary);
      if (!in) throw std::runtime_error(fmt::format("cannot read {}", file));
      modules_.push_back(std::make_unique<Module>(std::string(std::istreambuf_iterator<char>(in), {}), file));
      continue;
    }
    const std::size_t before = modules_.size();
    for (EmbeddedCode& code : code_in_file(file))
      if (code.kind == EmbeddedCode::Kind::ptx && code.architecture == architecture)
        modules_.push_back(std::make_unique<Module>(std::move(code.bytes), file));
    if (modules_.size() == before)
      throw std::runtime_error(
          fmt::format("{} embeds no PTX for sm_{}: build it with that architecture in "
                      "TUTTI_CUDA_ARCHITECTURES",
                      file, architecture));
  }
}

Entry KernelCode::find(const std::string& part) const {
  for (const auto& module : modules_)
    for (const std::string& name : module->entries())
      if (name.find(part) != std::string::npos) return {module.get(), &module->function(name)};
  throw std::runtime_error(fmt::format("no kernel has \"{}\" in its name", part));
}

Entry KernelCode::collective(Kernel kernel) const {
  if (kernel == Kernel::send || kernel == Kernel::recv) return find("messagesILi8E");
  return find(fmt::format("10collectiveILNS_6KernelE{}E", static_cast<int>(kernel)));
}
Entry KernelCode::defective(Kernel kernel) const {
  return find(fmt::format("9defectiveILNS_6KernelE{}E", static_cast<int>(kernel)));
}

}  // namespace tutti::emulator
