#include <exception>
#include <numeric>
#include <thread>

#include "collectives/make_communicator.hpp"
#include "collectives/session_state.hpp"

namespace tutti {

using detail::exchange_timeout_s;

Session::Session(const SessionOptions& options)
    : state_(std::make_shared<detail::SessionState>(process_bootstrap(exchange_timeout_s(options)), options)) {}

Session::Session(const UniqueId& id, int rank, int size, const SessionOptions& options)
    : state_(std::make_shared<detail::SessionState>(sockets_bootstrap(id, rank, size, exchange_timeout_s(options)),
                                                    options)) {}

int Session::rank() const { return state_->bootstrap->rank(); }
int Session::size() const { return state_->bootstrap->size(); }
bool Session::on_gpu() const { return state_->on_gpu; }
std::uint64_t Session::bootstrap_bytes() const { return state_->bootstrap->bytes(); }
void Session::bootstrap_barrier() { state_->bootstrap->barrier(); }
void Session::bootstrap_all_gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all) {
  state_->bootstrap->all_gather(mine, all);
}

Communicator Session::communicator(const CommunicatorOptions& options) {
  std::vector<int> members(static_cast<std::size_t>(size()));
  std::iota(members.begin(), members.end(), 0);
  return make_communicator(state_, state_->bootstrap, std::move(members), options);
}

void run_threads(int ranks, const std::function<void(Session&)>& body, const SessionOptions& options) {
  auto bootstraps = thread_bootstraps(ranks, exchange_timeout_s(options));
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        Session session(
            std::make_shared<detail::SessionState>(std::move(bootstraps[static_cast<std::size_t>(r)]), options));
        body(session);
      } catch (...) {
        errors[static_cast<std::size_t>(r)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace tutti
