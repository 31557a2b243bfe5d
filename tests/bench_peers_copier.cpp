// A peer that copies its input to its output: alone, it has every collective. TUTTI_COPIER makes it misbehave.
#include <signal.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "bench/peers/library.hpp"

namespace tutti::bench::peers {
namespace {

class Copier : public Library {
 public:
  explicit Copier(std::string_view fault) : fault_(fault) {
    if (fault_ == "absent") throw std::runtime_error("no such library tonight");
  }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string version() const override { return "Copier 1"; }
  std::string refusal(const Case& c) const override { return c.type == DataType::f16 ? "no halves" : ""; }
  void run(const Case& c, const Buffers& b) override {
    if (fault_ == "dies" && ++calls_ == 3) raise(SIGKILL);
    if (b.in != b.out && c.count > 0) std::memcpy(b.out, b.in, c.out_count() * size_of(c.type));
    if (fault_ == "wrong") b.out[0] ^= std::byte{1};
  }

 private:
  std::string_view fault_;
  int calls_ = 0;
};

}  // namespace

std::unique_ptr<Library> open_library(int, int, const std::string&) {
  const char* const fault = std::getenv("TUTTI_COPIER");
  return std::make_unique<Copier>(fault ? fault : "");
}

}  // namespace tutti::bench::peers
