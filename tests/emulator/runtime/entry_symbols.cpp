// Variables of the device, by the name that the host's code has for them.
#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/modules.hpp"
#include "tests/emulator/runtime/pageable.hpp"

namespace {

using namespace tutti::emulated;

/// Where `bytes` at `offset` of the variable are on the device.
void* place(Device& device, const void* symbol, std::size_t offset, std::size_t bytes) {
  const RegisteredVariable& variable = variable_of(symbol);
  require(offset <= variable.bytes && bytes <= variable.bytes - offset, cudaErrorInvalidValue);
  return reinterpret_cast<void*>(device.instance_of(*variable.binary).address(variable.name) + offset);
}

Copy into(Device& device, const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
          cudaMemcpyKind kind) {
  require(kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault,
          cudaErrorInvalidMemcpyDirection);
  Copy copy;
  copy.to = place(device, symbol, offset, bytes);
  copy.from = from;
  copy.width = bytes;
  copy.kind = kind;
  return copy;
}

Copy out_of(Device& device, void* to, const void* symbol, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind) {
  require(kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault,
          cudaErrorInvalidMemcpyDirection);
  Copy copy;
  copy.to = to;
  copy.from = place(device, symbol, offset, bytes);
  copy.width = bytes;
  copy.kind = kind;
  return copy;
}

cudaError_t put_now(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
                    cudaStream_t stream) {
  return entry(
      [&](Device& device) { copy_and_wait(stream_of(stream), into(device, symbol, from, bytes, offset, kind)); },
      WhileCapturing::unsafe);
}

cudaError_t get_now(void* to, const void* symbol, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
                    cudaStream_t stream) {
  return entry(
      [&](Device& device) { copy_and_wait(stream_of(stream), out_of(device, to, symbol, bytes, offset, kind)); },
      WhileCapturing::unsafe);
}

}  // namespace

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return entry([&](Device& device) {
    require(address != nullptr, cudaErrorInvalidValue);
    *address = place(device, symbol, 0, 0);
  });
}

cudaError_t cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  return entry([&](Device&) {
    require(bytes != nullptr, cudaErrorInvalidValue);
    *bytes = variable_of(symbol).bytes;
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                               cudaMemcpyKind kind) {
  return put_now(symbol, from, bytes, offset, kind, cudaStreamLegacy);
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                 cudaMemcpyKind kind) {
  return get_now(to, symbol, bytes, offset, kind, cudaStreamLegacy);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return entry(
      [&](Device& device) { copy_in_order(stream_of(stream), into(device, symbol, from, bytes, offset, kind)); });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return entry(
      [&](Device& device) { copy_in_order(stream_of(stream), out_of(device, to, symbol, bytes, offset, kind)); });
}

extern "C" {

cudaError_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                    cudaMemcpyKind kind) {
  return put_now(symbol, from, bytes, offset, kind, cudaStreamPerThread);
}
cudaError_t cudaMemcpyFromSymbol_ptds(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                      cudaMemcpyKind kind) {
  return get_now(to, symbol, bytes, offset, kind, cudaStreamPerThread);
}
cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                         cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, per_thread(stream));
}
cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                           cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, per_thread(stream));
}

}  // extern "C"
