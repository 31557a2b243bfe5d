// The model's block: does what each word says, and tells the model which memory it touched and who heard of whom.
#pragma once
#include <source_location>
#include <string>
#include <vector>

#include "kernels/block.hpp"
#include "kernels/model.hpp"

namespace tutti {

class ModelBlock : public Connections {
 public:
  using Source = std::source_location;

  /// From inside the strand's fiber.
  ModelBlock(model::Model& model, model::Strand& strand, const Team& team, int index, int count)
      : Connections(team, index, count), model_(model), me_(strand) {}

  // Each word knows where in its kernel it stands.
  void copy(View to, const void* from, std::size_t bytes, Source at = Source::current());
  void reduce(View to, View from, std::size_t n, const Reduction& reduction, Source at = Source::current());
  void copy(Multicast to, const void* from, std::size_t bytes, Source at = Source::current());
  void reduce(Multicast to, Multicast from, std::size_t n, const Reduction& reduction, Source at = Source::current());
  void reduce(View to, Multicast from, std::size_t n, const Reduction& reduction, Source at = Source::current());
  Memory enter(const Call& call, Reach pushing, Source at = Source::current());
  Memory enter(const Call& call, Reach pushing, Reach pulling, Source at = Source::current());
  void leave(Source at = Source::current());
  void signal(Flags to, Count count, Source at = Source::current());
  void wait(Flags from, Count count, Source at = Source::current());
  void advance_sent(Flags to, Count count, Source at = Source::current());
  void advance_received(Flags from, Count count, Source at = Source::current());
  void advance_uses(Region region, Count count, Source at = Source::current());
  void put_packets(const Call& call, const char* in, std::size_t n, std::size_t stride, int to,
                   Source at = Source::current());
  void get_packets(const Call& call, char* out, std::size_t n, std::size_t stride, int from,
                   Source at = Source::current());
  void reduce_packets(const Call& call, char* out, const char* in, std::size_t n, Source at = Source::current());
  void wipe_packets(Source at = Source::current());
  void offer(Header* header, const Call& call, Place place, Source at = Source::current());
  Offer accept(Header* header, const Call& call, Source at = Source::current());
  void sync(Source at = Source::current());

  // Lanes as Connections gives them, or another that a test wants.
  char* lane_to(int peer, Lane lane, Count k, Source at = Source::current());
  char* lane_from(int peer, Lane lane, Count k, Source at = Source::current());

  bool failed() const { return failed_; }

 private:
  /// What a word since the block's last barrier did with some memory.
  struct Touch {
    std::uintptr_t begin, end;
    bool write;
    std::uint32_t ordinal;
    model::Word word;
    model::Line line;
  };

  model::Verdict verdict_of(model::Word word, Source at, Flags flags, Count count, Lane lane) const;
  bool begin(model::Word word, Source at);
  bool begin(model::Word word, Source at, Flags flags, Count& count);
  template <class F>
  void for_each(int peer, F f);
  bool touch(const void* at, std::size_t bytes, bool write, bool remember = true);
  /// Through whom the word that runs reaches the places it reads, and those it writes.
  struct Through {
    bool switch_in = false;
    bool switch_out = false;
  };
  void copy_now(View to, const char* from, std::size_t bytes, Through through);
  void reduce_now(View to, View from, std::size_t n, const Reduction& reduction, Through through);
  bool touch_payload(const void* at, std::size_t bytes, bool write);
  bool touch_payloads(View places, std::size_t bytes, bool write, bool by_switch);
  void reduce_sources(std::size_t n, const Reduction& reduction);
  void store(View to);
  bool apart(const char* to, const char* from, std::size_t bytes);
  void signal_now(Flags to, Count count);
  void wait_now(Flags from, Count count);
  bool await(const std::uint64_t& flag, std::uint64_t wanted, bool tag, const char* what, int peer, std::uint64_t base);
  char* arrived(const Call& call, int peer, std::size_t bytes);
  void publish(std::uint64_t* flag, std::uint64_t value, bool tag);
  void fail(const std::string& why);

  model::Model& model_;
  model::Strand& me_;
  std::vector<Touch> touched_;
  std::vector<char> moved_;  // by the word that runs, and from where
  std::vector<const char*> sources_;
  model::Verdict verdict_;  // on the word that runs
  bool failed_ = false;
};

/// One peer, or all in an order of chance: on a GPU different lanes do it.
template <class F>
void ModelBlock::for_each(int peer, F f) {
  if (peer != kAll) return f(peer);
  const auto others = static_cast<std::uint64_t>(size() - 1);
  if (others == 0) return;
  const auto first = static_cast<int>(model_.random(others));
  for (int i = 0; i < size() - 1; ++i) {
    if (i > 0) model_.pause();
    f((rank() + 1 + (first + i) % (size() - 1)) % size());
  }
}

}  // namespace tutti
