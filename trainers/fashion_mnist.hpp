// Fashion-MNIST from the files of Debian's package dataset-fashion-mnist.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "trainers/data_set.hpp"

namespace tutti::trainers {

/// Something that the user named is missing or is not what it must be; the message says what, where and what to do.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Split : std::uint8_t { train, test };

/// Where Debian's package puts the files.
inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

/// Throws InputError unless all four files are there and may be read. Does not read them.
void check_fashion_mnist(const std::string& folder);

/// Reads and decompresses one split and verifies the decompressed bytes by SHA-256; throws InputError.
Images read_fashion_mnist(const std::string& folder, Split split);

/// Decodes an IDX file of unsigned bytes: fills `extents` and returns the elements. `name` is for the error's message.
std::vector<std::uint8_t> decode_idx(const std::vector<std::uint8_t>& file, std::size_t dimensions,
                                     std::vector<std::uint32_t>& extents, const std::string& name);

}  // namespace tutti::trainers
