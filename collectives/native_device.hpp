// Where a session asks the native backend to run.
#pragma once
#include <memory>
#include <string>

#include "collectives/bootstrap.hpp"
#include "collectives/native_cuda.hpp"

namespace tutti {

/// What TUTTI_DEVICE asks for; cpu if it is unset.
enum class DeviceWish { cpu, gpu, automatic };

/// Throws ErrorCode::invalid_argument, alike on all ranks, if it has another value or not the same on all. Collective.
DeviceWish agreed_device_wish(Bootstrap& bootstrap);

/// For ranks that wished for a GPU and cannot have one, which `why_not` says, the same text on all: throws
/// ErrorCode::unsupported if they must have it, else says so on rank 0's stderr and returns null.
std::shared_ptr<detail::DeviceSession> without_gpu(Bootstrap& bootstrap, DeviceWish wish, const std::string& why_not);

}  // namespace tutti
