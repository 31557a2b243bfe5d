#include "collectives/backend.hpp"

#include <cstring>

#include "collectives/agree.hpp"
#include "collectives/mapping.hpp"

namespace tutti {
namespace {

struct PrivateMemory : detail::SegmentOwner {
  explicit PrivateMemory(std::size_t bytes) : mapping(bytes, -1) {}
  Mapping mapping;
};

}  // namespace

std::pair<std::shared_ptr<detail::SegmentOwner>, void*> Backend::allocate(Bootstrap& bootstrap, std::size_t bytes) {
  if (bytes == 0) {
    agree(bootstrap, ErrorCode::system, "");
    return {nullptr, nullptr};
  }
  auto memory = std::make_shared<PrivateMemory>(bytes);
  const bool given = memory->mapping.base() && memory->mapping.populate();
  agree(bootstrap, ErrorCode::system,
        given ? "" : "rank " + std::to_string(bootstrap.rank()) + " cannot have " + std::to_string(bytes) + " bytes");
  return {memory, memory->mapping.base()};
}

std::shared_ptr<detail::SegmentOwner> Backend::register_memory(Bootstrap&, void*, std::size_t) { return nullptr; }

void Backend::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace tutti
