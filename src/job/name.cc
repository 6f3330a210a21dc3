#include "job/name.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdint>

#include "base/result.h"

namespace phalanx::job {
namespace {

constexpr const char* kAdjectives[] = {
    "amber",  "ample",  "bold",   "brave", "bright", "brisk",  "calm",   "clever",  "cool",   "crisp",
    "dapper", "eager",  "fair",   "fresh", "frosty", "gentle", "golden", "good",    "grand",  "green",
    "happy",  "honest", "icy",    "jolly", "keen",   "kind",   "lemon",  "lively",  "loyal",  "lucid",
    "mellow", "mighty", "modest", "neat",  "nice",   "noble",  "olive",  "patient", "plucky", "polite",
    "proud",  "quick",  "quiet",  "rapid", "red",    "ripe",   "rustic", "sharp",   "shiny",  "silver",
    "sleepy", "smart",  "snowy",  "solid", "steady", "strong", "sunny",  "sweet",   "tidy",   "tough",
    "upbeat", "vivid",  "warm",   "wise",
};
constexpr const char* kNouns[] = {
    "apple",  "arch",  "arm",    "atom",   "bag",     "basil", "beach", "bean",   "bell",  "bird",  "boat",
    "book",   "brain", "bread",  "bridge", "brush",   "cap",   "card",  "cart",   "cloud", "coast", "cup",
    "dish",   "door",  "dress",  "drop",   "feather", "field", "fig",   "flag",   "gas",   "grape", "hat",
    "hill",   "house", "island", "jewel",  "kettle",  "key",   "kite",  "knot",   "lamp",  "leaf",  "loquat",
    "lychee", "moon",  "nail",   "net",    "night",   "oil",   "onion", "parcel", "pear",  "plane", "plum",
    "pump",   "rain",  "river",  "roof",   "root",    "sail",  "tent",  "tree",   "wave",
};
static_assert(std::size(kAdjectives) == 64 && std::size(kNouns) == 64);  // 6 bits each
constexpr char kLetters[] = "bcdfghjklmnpqrstvwxyz0123456789k";  // 5 bits; no vowels: no words by accident
static_assert(sizeof kLetters == 32 + 1);

}  // namespace

std::string random_name() {
  uint64_t bits[2];
  ssize_t got;
  do got = ::getrandom(bits, sizeof bits, 0);
  while (got < 0 && errno == EINTR);
  CHECK(got == sizeof bits);
  std::string name = std::string(kAdjectives[bits[0] & 63]) + "_" + kNouns[(bits[0] >> 6) & 63] + "_";
  for (int i = 0; i < 10; ++i) name += kLetters[(bits[1] >> (5 * i)) & 31];
  return name;
}

}  // namespace phalanx::job
