#include "bench/peers/job.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <new>

#include "bench/arguments.hpp"
#include "collectives/tutti.hpp"

extern char** environ;

namespace tutti::bench::peers {
namespace {

constexpr double kLook = 0.2;                 // seconds between looks after the processes
constexpr std::chrono::seconds kEnding{5};    // that a peer has to end by itself
constexpr std::chrono::minutes kLongest{10};  // that an order may take

constexpr const char* kOfLaunchers[] = {"OMPI_", "PMIX_", "PMI_", "PRTE_", "HYDRA_", "MPIR_"};

std::string own_folder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }

/// What the bench's own launcher told it must not reach another.
std::vector<std::string> environment_without_ranks() {
  std::vector<std::string> kept;
  for (char** each = environ; *each; ++each) {
    const std::string_view variable = *each;
    const bool of_launcher = std::any_of(std::begin(kOfLaunchers), std::end(kOfLaunchers),
                                         [&](const char* prefix) { return variable.starts_with(prefix); });
    if (!of_launcher) kept.emplace_back(variable);
  }
  kept.emplace_back("OMPI_ALLOW_RUN_AS_ROOT=1");
  kept.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  return kept;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The last line of what the processes said.
std::string last_line(int file) {
  std::string text(2000, '\0');
  const off_t size = lseek(file, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(text.size()));
  const ssize_t got = pread(file, text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == '-')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

Job::Job(Bootstrap& bootstrap, const Setting& setting, std::size_t in_bytes, std::size_t out_bytes)
    : bootstrap_(bootstrap), name_(setting.name) {
  Descriptor board, said;
  if (bootstrap.rank() == 0) {
    board = Descriptor(memfd_create("tutti peer", MFD_CLOEXEC));
    said = Descriptor(memfd_create("tutti peer said", MFD_CLOEXEC));
    if (board.get() < 0 || said.get() < 0 || ftruncate(board.get(), sizeof(Board)) != 0) board = Descriptor();
  }
  std::vector<Descriptor> all = bootstrap.share(board.get());
  void* const at =
      all[0].get() < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, all[0].get(), 0);
  if (at == MAP_FAILED) throw Error(ErrorCode::system, fmt::format("peer {}: no memory to talk through", name_));
  board_ = bootstrap.rank() == 0 ? new (at) Board{} : static_cast<Board*>(at);
  if (bootstrap.rank() == 0) {
    board_->in_bytes = in_bytes;
    board_->out_bytes = out_bytes;
    board_->bench = getpid();
    file_ = board.release();
    said_ = said.release();
    start(setting);
  }
  bootstrap.barrier();
  awaited_ = static_cast<std::uint32_t>(bootstrap.size());
  try {
    wait_for_answers();
  } catch (...) {
    end();  // a peer of which some ranks have started goes, too
    throw;
  }
}

void Job::start(const Setting& setting) {
  const std::string program = own_folder().append("/").append(setting.program);
  if (access(program.c_str(), X_OK) != 0)
    return end_with(*board_, fmt::format("{} is not built: it needs the package {}; install it, then ./tutti bench "
                                         "builds it",
                                         setting.program, setting.package)
                                 .c_str());
  const std::string ranks = std::to_string(bootstrap_.size());
  const std::string path = fmt::format("/proc/{}/fd/{}", getpid(), file_);
  const bool alone = setting.launcher.empty();
  if (alone) {
    std::string pattern = std::filesystem::temp_directory_path() / "tutti-peer-XXXXXX";
    if (!mkdtemp(pattern.data())) return end_with(*board_, "no folder for its ranks to meet in");
    folder_ = pattern;
  }
  std::vector<std::string> environment = environment_without_ranks();
  for (int rank = 0; rank < (alone ? bootstrap_.size() : 1); ++rank) {
    std::vector<std::string> command = setting.launcher;
    if (!alone) command.insert(command.end(), {"-n", ranks});
    command.insert(command.end(), {program, path, std::to_string(rank), ranks, folder_});
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, said_, 1);
    posix_spawn_file_actions_adddup2(&files, said_, 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // A terminal's Ctrl-C ends the bench, and the peer with it.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t process = 0;
    const int fault = posix_spawnp(&process, command[0].c_str(), &files, &attributes, pointers_to(command).data(),
                                   pointers_to(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (fault != 0)
      return end_with(
          *board_,
          fmt::format("{} does not start: {} (package {})", command[0], std::strerror(fault), setting.package).c_str());
    processes_.push_back(process);
  }
}

Job::~Job() { end(); }

void Job::end() {
  if (bootstrap_.rank() == 0) {
    const bool in_order = board_->ended.load() == 0;
    if (in_order) give({.kind = Order::Kind::end});
    const auto begin = std::chrono::steady_clock::now();
    while (in_order && !processes_.empty() && std::chrono::steady_clock::now() - begin < kEnding) {
      std::erase_if(processes_, [](int process) { return waitpid(process, nullptr, WNOHANG) == process; });
      usleep(2000);
    }
    for (int process : processes_) kill(-process, SIGKILL), waitpid(process, nullptr, 0);
    if (folder_.size() > 1) {
      std::error_code ignored;
      std::filesystem::remove_all(folder_, ignored);
    }
    close(file_);
    close(said_);
  }
  munmap(static_cast<void*>(board_), sizeof(Board));
}

void Job::give(const Order& order) {
  board_->order = order;
  board_->orders.fetch_add(1, std::memory_order_release);
  wake_all(board_->orders);
}

void Job::look_after_processes() {
  for (int process : processes_) {
    int status = 0;
    if (waitpid(process, &status, WNOHANG) != process) continue;
    std::erase(processes_, process);
    const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                                : fmt::format("ended with code {}", WEXITSTATUS(status));
    const std::string said = last_line(said_);
    return end_with(*board_, fmt::format("{}{}{}", how, said.empty() ? "" : ": ", said).c_str());
  }
}

void Job::wait_for_answers() {
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    const std::uint32_t answers = board_->answers.load(std::memory_order_acquire);
    if (answers == awaited_) return;
    if (board_->ended.load(std::memory_order_acquire) == 2)
      throw Error(ErrorCode::peer_failed, fmt::format("peer {}: {}", name_, board_->fault));
    sleep_while(board_->answers, answers, kLook);
    if (bootstrap_.rank() != 0) continue;
    look_after_processes();
    if (std::chrono::steady_clock::now() - begin > kLongest) end_with(*board_, "it has not answered for 10 minutes");
  }
}

Job::Result Job::run(const Order& order) {
  if (bootstrap_.rank() == 0) give(order);
  awaited_ += static_cast<std::uint32_t>(bootstrap_.size());
  wait_for_answers();
  struct Answer {
    double seconds;
    std::uint64_t wrong;
    char refusal[sizeof(Board::Rank::refusal)];
  } mine{};
  for (int rank = 0; rank < bootstrap_.size(); ++rank) {
    const Board::Rank& theirs = board_->ranks[rank];
    mine.seconds = std::max(mine.seconds, theirs.seconds);
    mine.wrong += theirs.wrong;
  }
  std::memcpy(mine.refusal, board_->ranks[0].refusal, sizeof mine.refusal);
  // Nobody gives the next order before all have read.
  const Answer all = bootstrap_.all_gather(mine)[0];
  return {all.seconds, all.wrong, all.refusal};
}

}  // namespace tutti::bench::peers
