#include <cstring>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/faults.hpp"
#include "tests/emulator/runtime/memory.hpp"
#include "tests/emulator/runtime/pageable.hpp"

namespace {

using namespace tutti::emulated;

Copy plain(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  Copy copy;
  copy.to = to;
  copy.from = from;
  copy.width = bytes;
  copy.kind = kind;
  return copy;
}

Copy rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
          std::size_t height, cudaMemcpyKind kind) {
  Copy copy = plain(to, from, width, kind);
  copy.height = height;
  copy.to_pitch = to_pitch;
  copy.from_pitch = from_pitch;
  return copy;
}

const std::byte* corner(const cudaPitchedPtr& box, const cudaPos& at) {
  return static_cast<const std::byte*>(box.ptr) + at.z * box.pitch * box.ysize + at.y * box.pitch + at.x;
}

Copy planes(const cudaPitchedPtr& to, const cudaPos& to_at, const cudaPitchedPtr& from, const cudaPos& from_at,
            const cudaExtent& extent, cudaMemcpyKind kind) {
  Copy copy = rows(const_cast<std::byte*>(corner(to, to_at)), to.pitch, corner(from, from_at), from.pitch, extent.width,
                   extent.height, kind);
  copy.depth = extent.depth;
  copy.to_slice = to.pitch * to.ysize;
  copy.from_slice = from.pitch * from.ysize;
  return copy;
}

Copy from_parameters(const cudaMemcpy3DParms& p) {
  if (p.srcArray || p.dstArray) give_up("cudaMemcpy3D with an array, which the emulator does not have");
  return planes(p.dstPtr, p.dstPos, p.srcPtr, p.srcPos, p.extent, p.kind);
}

Copy from_parameters(const cudaMemcpy3DPeerParms& p) {
  if (p.srcArray || p.dstArray) give_up("cudaMemcpy3DPeer with an array, which the emulator does not have");
  return planes(p.dstPtr, p.dstPos, p.srcPtr, p.srcPos, p.extent, cudaMemcpyDefault);
}

cudaError_t copy_now(const Copy& copy, cudaStream_t stream) {
  return entry([&](Device&) { copy_and_wait(stream_of(stream), copy); }, WhileCapturing::unsafe);
}

cudaError_t copy_later(const Copy& copy, cudaStream_t stream) {
  return entry([&](Device&) { copy_in_order(stream_of(stream), copy); });
}

Fill rows_of(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  Fill fill;
  fill.to = to;
  fill.value = static_cast<unsigned char>(value);
  fill.width = width;
  fill.height = height;
  fill.pitch = pitch;
  return fill;
}

Fill planes_of(const cudaPitchedPtr& to, int value, const cudaExtent& extent) {
  Fill fill = rows_of(to.ptr, to.pitch, value, extent.width, extent.height);
  fill.depth = extent.depth;
  fill.slice = to.pitch * to.ysize;
  return fill;
}

cudaError_t fill_later(const Fill& fill, cudaStream_t stream) {
  return entry([&](Device&) {
    count(FaultPoint::copy);
    check(fill);
    submit(stream_of(stream), fill);
  });
}

/// The host waits only where it could look: device memory is filled behind its back.
cudaError_t fill_now(const Fill& fill, cudaStream_t stream) {
  return entry(
      [&](Device&) {
        count(FaultPoint::copy);
        check(fill);
        if (AddressSpace::instance().contains(reinterpret_cast<std::uintptr_t>(fill.to)))
          submit(stream_of(stream), fill);
        else
          submit_and_wait(stream_of(stream), fill);
      },
      WhileCapturing::unsafe);
}

void require_devices(int first, int second) {
  device_at(first);
  device_at(second);
}

}  // namespace

// ---- Copies
// ----------------------------------------------------------------------------------------------------------

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy_now(plain(to, from, bytes, kind), cudaStreamLegacy);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_later(plain(to, from, bytes, kind), stream);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind) {
  return copy_now(rows(to, to_pitch, from, from_pitch, width, height, kind), cudaStreamLegacy);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_later(rows(to, to_pitch, from, from_pitch, width, height, kind), stream);
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) { return copy_now(from_parameters(*p), cudaStreamLegacy); }
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return copy_later(from_parameters(*p), stream);
}
cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) { return copy_now(from_parameters(*p), cudaStreamLegacy); }
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  return copy_later(from_parameters(*p), stream);
}
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes) {
  const cudaError_t known = entry([&](Device&) { require_devices(to_device, from_device); });
  return known != cudaSuccess ? known : cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
  const cudaError_t known = entry([&](Device&) { require_devices(to_device, from_device); });
  return known != cudaSuccess ? known : cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}

// ---- Fills
// -----------------------------------------------------------------------------------------------------------

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return fill_now(rows_of(to, bytes, value, bytes, 1), cudaStreamLegacy);
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return fill_later(rows_of(to, bytes, value, bytes, 1), stream);
}
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return fill_now(rows_of(to, pitch, value, width, height), cudaStreamLegacy);
}
cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream) {
  return fill_later(rows_of(to, pitch, value, width, height), stream);
}
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return fill_now(planes_of(to, value, extent), cudaStreamLegacy);
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return fill_later(planes_of(to, value, extent), stream);
}

// ---- For programs whose default stream is one per thread
// -------------------------------------------------------------

extern "C" {

cudaError_t cudaMemcpy_ptds(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy_now(plain(to, from, bytes, kind), cudaStreamPerThread);
}
cudaError_t cudaMemcpyAsync_ptsz(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                 cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, kind, per_thread(stream));
}
cudaError_t cudaMemcpy2D_ptds(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return copy_now(rows(to, to_pitch, from, from_pitch, width, height, kind), cudaStreamPerThread);
}
cudaError_t cudaMemcpy2DAsync_ptsz(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                   std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, per_thread(stream));
}
cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms* p) { return copy_now(from_parameters(*p), cudaStreamPerThread); }
cudaError_t cudaMemcpy3DAsync_ptsz(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return cudaMemcpy3DAsync(p, per_thread(stream));
}
cudaError_t cudaMemcpy3DPeer_ptds(const cudaMemcpy3DPeerParms* p) {
  return copy_now(from_parameters(*p), cudaStreamPerThread);
}
cudaError_t cudaMemcpy3DPeerAsync_ptsz(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  return cudaMemcpy3DPeerAsync(p, per_thread(stream));
}
cudaError_t cudaMemset_ptds(void* to, int value, std::size_t bytes) {
  return fill_now(rows_of(to, bytes, value, bytes, 1), cudaStreamPerThread);
}
cudaError_t cudaMemsetAsync_ptsz(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return cudaMemsetAsync(to, value, bytes, per_thread(stream));
}
cudaError_t cudaMemset2D_ptds(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return fill_now(rows_of(to, pitch, value, width, height), cudaStreamPerThread);
}
cudaError_t cudaMemset2DAsync_ptsz(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                                   cudaStream_t stream) {
  return cudaMemset2DAsync(to, pitch, value, width, height, per_thread(stream));
}
cudaError_t cudaMemset3D_ptds(cudaPitchedPtr to, int value, cudaExtent extent) {
  return fill_now(planes_of(to, value, extent), cudaStreamPerThread);
}
cudaError_t cudaMemset3DAsync_ptsz(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return cudaMemset3DAsync(to, value, extent, per_thread(stream));
}

}  // extern "C"
