#include "collectives/unique_id.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>

#include "collectives/rendezvous.hpp"

namespace tutti {
namespace {

constexpr char kKind[8] = "tutti:1";

struct Content {
  char kind[8];
  Invitation invitation;
};
static_assert(std::is_trivially_copyable_v<Content> && sizeof(Content) <= sizeof(UniqueId::bytes));

/// The rendezvous that this process holds, each in a thread of its own until its job has formed or failed.
class Hosts {
 public:
  void add(Descriptor listener, const Invitation& invitation) {
    std::lock_guard lock(mutex_);
    // In a fork: what it inherited is of its parent's threads, and left alone.
    if (owner_ != 0 && owner_ != ::getpid()) hosts_ = new std::list<Host>;
    hosts_->remove_if([](Host& host) {
      if (!host.over) return false;
      host.thread.join();
      return true;
    });
    if (owner_ == 0) std::atexit([] { Hosts::hosts().stop(); });
    owner_ = ::getpid();
    Host& host = hosts_->emplace_back();
    host.stop = Descriptor(::eventfd(0, EFD_CLOEXEC));
    if (host.stop.get() < 0) {
      hosts_->pop_back();
      throw Error(ErrorCode::system, fmt::format("unique_id: eventfd: {} (ulimit -n)", std::strerror(errno)));
    }
    // The program's signals are not for this thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      host.thread = std::thread(
          [&host, invitation, taken = std::move(listener)]() mutable { receive(host, std::move(taken), invitation); });
    } catch (const std::system_error& error) {
      hosts_->pop_back();
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw Error(ErrorCode::system, fmt::format("unique_id: cannot start a thread: {}", error.what()));
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  static Hosts& hosts() {
    static Hosts* const all = new Hosts;  // outlives every static of the program
    return *all;
  }

 private:
  struct Host {
    Descriptor stop;
    std::atomic<bool> over{false};
    std::thread thread;
  };

  static void receive(Host& host, Descriptor listener, const Invitation& invitation) {
    try {
      Rendezvous(std::move(listener), invitation.host, invitation.token, 0, 0).gather(0, host.stop.get());
    } catch (const std::exception&) {
      // Everyone who came has been told.
    }
    host.over = true;
  }

  void stop() {
    if (owner_ != ::getpid()) return;  // a fork has none of the threads
    std::lock_guard lock(mutex_);
    for (Host& host : *hosts_) {
      const std::uint64_t one = 1;
      while (::write(host.stop.get(), &one, sizeof one) < 0 && errno == EINTR) {
      }
      host.thread.join();
    }
    hosts_->clear();
  }

  std::mutex mutex_;
  std::list<Host>* hosts_ = new std::list<Host>;
  pid_t owner_ = 0;
};

}  // namespace

UniqueId unique_id() {
  Content content{};
  std::memcpy(content.kind, kKind, sizeof kKind);
  content.invitation.host = public_address();
  content.invitation.token = random_token();
  Descriptor listener = listen_at(content.invitation.host);
  Hosts::hosts().add(std::move(listener), content.invitation);
  UniqueId id;
  std::memcpy(id.bytes.data(), &content, sizeof content);
  return id;
}

Invitation read_invitation(const UniqueId& id) {
  Content content{};
  std::memcpy(&content, id.bytes.data(), sizeof content);
  if (std::memcmp(content.kind, kKind, sizeof kKind) != 0 || content.invitation.host.length == 0) {
    throw Error(ErrorCode::invalid_argument,
                "this is no unique id: make one with tutti::unique_id() and hand over all of its 128 bytes");
  }
  return content.invitation;
}

}  // namespace tutti
