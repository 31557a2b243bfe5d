// Where the ranks of a job meet for the first time: who comes shows the job's token and says which rank it is.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collectives/deadline.hpp"
#include "collectives/error.hpp"
#include "collectives/process_identity.hpp"
#include "collectives/socket_address.hpp"
#include "collectives/token.hpp"

namespace tutti {

/// What a rank says when it comes.
struct Arrival {
  Token token{};  ///< the job's
  std::int32_t rank = 0;
  std::int32_t size = 0;
  double timeout_s = 0;    ///< how long it is willing to wait for the others
  SocketAddress centre{};  ///< rank 0: where the others will find it
  ProcessIdentity process{};
};

/// The host's side. Whoever has no token, says nothing or something else is turned away and changes nothing.
class Rendezvous {
 public:
  /// Ranks `first` to `size` - 1 are expected at `listener`; a size of 0 means what the first to come says.
  Rendezvous(Descriptor listener, const SocketAddress& address, const Token& token, int first, int size);
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  ~Rendezvous();

  /// Waits until all have come, tells them so, and returns their connections in rank order; tells them where rank 0 is
  /// to be found if it is among them. Waits no longer than any of them wants to, and, if `timeout_s` is not 0, no
  /// longer than this. What goes wrong (a rank twice, sizes that differ, a rank missing or ended) is told all who came
  /// and thrown. Returns nothing, and tells nobody, once `stop` (a descriptor, or -1) can be read. Called once.
  std::vector<Descriptor> gather(double timeout_s, int stop);

 private:
  struct Guest {
    Descriptor connection;
    Arrival arrival;
  };
  /// Has connected, and not yet said everything.
  struct Stranger {
    Descriptor connection;
    Deadline patience;
    std::vector<char> said;
  };

  bool wait(int stop);
  void accept();
  bool hear_out(Stranger& stranger);
  void admit(Guest guest);
  void shorten(double timeout_s);
  bool complete() const;
  std::string absent() const;
  void notice_who_ended();
  [[noreturn]] void give_up(ErrorCode code, const std::string& text);

  Descriptor listener_;
  const SocketAddress address_;
  const Token token_;
  const int first_;
  int size_;
  double timeout_s_ = 0;
  std::optional<Deadline> deadline_;  // none before there is anybody to wait
  std::vector<Stranger> strangers_;
  std::vector<Guest> guests_;  // in the order they came
  std::string refusal_;        // why the kernel gave no connection the last time
};

/// A rank's side: says `arrival` to the rendezvous at the other end of `connection`, and returns where rank 0 is to be
/// found once all have come; nothing if the host closes without a word, as one that is over does. Throws the host's
/// error, or its own if the host says nothing in time.
std::optional<SocketAddress> arrive(int connection, const SocketAddress& host, const Arrival& arrival);

}  // namespace tutti
