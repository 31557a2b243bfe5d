#pragma once

#include <cuda_runtime_api.h>

#include <optional>

namespace tutti::emulated {

class Device;

/// What the device is: measures of an H100 where nothing else is set.
cudaDeviceProp properties_of(const Device& device);

/// The same by number; none for what the emulator does not know.
std::optional<int> attribute_of(const Device& device, cudaDeviceAttr attribute);

}  // namespace tutti::emulated
