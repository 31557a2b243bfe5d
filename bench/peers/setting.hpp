// Which libraries tutti is measured beside, and how they are started.
#pragma once
#include <string>
#include <vector>

namespace tutti::bench::peers {

/// How a peer is started.
struct Setting {
  std::string name;                   ///< "openmpi-ucx": key of ratios, name in rows
  std::string program;                ///< "tutti-peer-openmpi", beside the bench's own program
  std::vector<std::string> launcher;  ///< a command that takes -n RANKS and the program; empty: started one by one
  std::string package;                ///< that has what the program needs to be built, and to run
  bool named = false;                 ///< by itself: then it must be there
};

/// The peers by name.
const std::vector<Setting>& known_peers();

/// What `names` ("openmpi-best", "mpich", "gloo", ...) stand for, each once; an empty list if one is not known.
std::vector<Setting> peers_named(const std::vector<std::string>& names);

}  // namespace tutti::bench::peers
