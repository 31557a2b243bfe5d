#include "trainers/fashion_mnist.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <memory>

#include "trainers/sha256.hpp"

namespace tutti::trainers {
namespace {

struct File {
  const char* name;
  std::size_t dimensions;
  std::size_t bytes;   // decompressed
  const char* digest;  // of the decompressed bytes; the package's .gz files are not upstream's
};
constexpr File kImages[] = {
    {"train-images-idx3-ubyte.gz", 3, 47040016, "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
    {"t10k-images-idx3-ubyte.gz", 3, 7840016, "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"}};
constexpr File kLabels[] = {
    {"train-labels-idx1-ubyte.gz", 1, 60008, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
    {"t10k-labels-idx1-ubyte.gz", 1, 10008, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}};

constexpr const char* kAdvice = "install the package dataset-fashion-mnist, or name the folder with --data";

std::vector<std::uint8_t> read_verified(const std::string& folder, const File& file) {
  const std::string path = folder + "/" + file.name;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(path.c_str(), "rb"), gzclose);
  if (!in) throw InputError(fmt::format("{} cannot be read: {}", path, kAdvice));
  gzbuffer(in.get(), 1 << 18);
  // One byte more than expected, so that a longer file is noticed.
  std::vector<std::uint8_t> bytes(file.bytes + 1);
  const int got = gzread(in.get(), bytes.data(), static_cast<unsigned>(bytes.size()));
  if (got < 0) throw InputError(fmt::format("{} cannot be decompressed: {}", path, kAdvice));
  bytes.resize(static_cast<std::size_t>(got));
  const std::string digest = sha256(bytes);
  if (digest != file.digest)
    throw InputError(fmt::format("{} is not Fashion-MNIST's: its content has sha256 {}..., expected {:.16}...; {}",
                                 path, digest.substr(0, 16), file.digest, kAdvice));
  return bytes;
}

}  // namespace

void check_fashion_mnist(const std::string& folder) {
  for (const auto* files : {kImages, kLabels})
    for (int i = 0; i < 2; ++i) {
      const std::string path = folder + "/" + files[i].name;
      if (access(path.c_str(), R_OK) != 0) throw InputError(fmt::format("{} is not there: {}", path, kAdvice));
    }
}

std::vector<std::uint8_t> decode_idx(const std::vector<std::uint8_t>& file, std::size_t dimensions,
                                     std::vector<std::uint32_t>& extents, const std::string& name) {
  const auto word = [&](std::size_t i) {
    const std::uint8_t* p = file.data() + 4 * i;
    return static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
           static_cast<std::uint32_t>(p[2]) << 8 | p[3];
  };
  const std::size_t header = 4 * (dimensions + 1);
  // The magic number: 8 for unsigned bytes, then the number of dimensions.
  if (file.size() < header || word(0) != (0x800u | dimensions))
    throw InputError(fmt::format("{} is not an IDX file of bytes with {} dimensions", name, dimensions));
  extents.clear();
  std::size_t count = 1;
  for (std::size_t d = 0; d < dimensions; ++d) {
    extents.push_back(word(d + 1));
    // Stops as soon as the file is too short, so that the product cannot overflow.
    if (extents.back() != 0 && count > file.size() / extents.back())
      throw InputError(fmt::format("{} is shorter than its header says", name));
    count *= extents.back();
  }
  if (file.size() != header + count)
    throw InputError(fmt::format("{} holds {} bytes, its header says {}", name, file.size(), header + count));
  return {file.begin() + static_cast<std::ptrdiff_t>(header), file.end()};
}

Images read_fashion_mnist(const std::string& folder, Split split) {
  const auto at = static_cast<std::size_t>(split);
  Images images;
  std::vector<std::uint32_t> extents;
  images.pixels = decode_idx(read_verified(folder, kImages[at]), kImages[at].dimensions, extents, kImages[at].name);
  images.features = static_cast<int>(extents[1] * extents[2]);
  images.labels = decode_idx(read_verified(folder, kLabels[at]), kLabels[at].dimensions, extents, kLabels[at].name);
  return images;
}

}  // namespace tutti::trainers
