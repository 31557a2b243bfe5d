#include "bench/by_hand.hpp"

namespace tutti::bench {

void broadcast_by_hand(Communicator& comm, float* data, std::size_t count, int root) {
  Group messages = comm.group();
  for (int peer = 0; peer < comm.size(); ++peer) {
    if (peer == root) continue;
    if (comm.rank() == root) messages.send(data, count, peer);
    if (comm.rank() == peer) messages.recv(data, count, root);
  }
  messages.run();
}

void reduce_by_hand(Communicator& comm, const float* in, float* out, float* theirs, std::size_t count, int root) {
  if (comm.rank() != root) {
    comm.send(in, count, root);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) out[i] = in[i];
  for (int peer = 0; peer < comm.size(); ++peer) {
    if (peer == root) continue;
    comm.recv(theirs, count, peer);
    for (std::size_t i = 0; i < count; ++i) out[i] += theirs[i];
  }
}

void all_gather_by_hand(Communicator& comm, const float* in, float* out, std::size_t count) {
  const auto place = [&](int rank) { return out + static_cast<std::size_t>(rank) * count; };
  Group messages = comm.group();
  for (int peer = 0; peer < comm.size(); ++peer) {
    if (peer == comm.rank()) continue;
    messages.send(in, count, peer);
    messages.recv(place(peer), count, peer);
  }
  messages.run();
  comm.copy(place(comm.rank()), in, count * sizeof(float));
}

void all_reduce_by_hand(Communicator& comm, float* data, float* theirs, std::size_t count) {
  const int n = comm.size(), me = comm.rank(), next = (me + 1) % n, previous = (me + n - 1) % n;
  // Chunk c, for any c from -n on.
  const auto begin = [&](int c) { return count * static_cast<std::size_t>((c + n) % n) / static_cast<std::size_t>(n); };
  const auto length = [&](int c) { return ((c + n) % n == n - 1 ? count : begin(c + 1)) - begin(c); };
  Group messages = comm.group();
  for (int step = 0; step < n - 1; ++step) {
    const int sent = me - step, received = me - step - 1;
    messages.send(data + begin(sent), length(sent), next);
    messages.recv(theirs, length(received), previous);
    messages.run();
    float* const sums = data + begin(received);
    for (std::size_t i = 0; i < length(received); ++i) sums[i] += theirs[i];
  }
  for (int step = 0; step < n - 1; ++step) {
    const int sent = me + 1 - step, received = me - step;
    messages.send(data + begin(sent), length(sent), next);
    messages.recv(data + begin(received), length(received), previous);
    messages.run();
  }
}

}  // namespace tutti::bench
