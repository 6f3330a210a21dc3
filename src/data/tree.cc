#include "data/tree.h"

#include <climits>

namespace phalanx::data {

namespace {

constexpr std::string_view kMagic = "phalanx tree 1\n";
constexpr uint64_t kLarge = 64u << 10;  // a file that has chunks of its own
constexpr size_t kMostDeep = 250;       // folders in one another, each a descriptor of whoever writes them
constexpr uint64_t kMostContent = 1ull << 50;

void put(std::string& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }
  std::string_view take(uint64_t size) {
    if (rest_.size() < size) good_ = false;
    if (!good_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  uint64_t number(int bytes) {
    const std::string_view taken = take(static_cast<uint64_t>(bytes));
    uint64_t value = 0;
    for (size_t i = 0; i < taken.size(); ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(taken[i])) << (8 * i);
    return value;
  }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

Error wrong(const std::string& what) { return {Code::invalid, "a list of files " + what}; }

// The folders we are in while reading the list from above.
class Place {
 public:
  Status enter(const Entry& entry);

 private:
  struct Folder {
    std::string path;  // with the '/' behind it; "" for the first
    std::string last;  // name of what was last in it
  };
  std::vector<Folder> folders_{{}};
};

Status Place::enter(const Entry& entry) {
  while (folders_.size() > 1 && !entry.path.starts_with(folders_.back().path)) folders_.pop_back();
  Folder& folder = folders_.back();
  const std::string name = entry.path.substr(folder.path.size());
  if (name.empty() || name == "." || name == ".." || name.size() > NAME_MAX ||
      name.find('/') != std::string::npos || name.find('\0') != std::string::npos)
    return wrong("with a path that is not in a folder of it");
  if (!folder.last.empty() && name <= folder.last) return wrong("that is not in order");
  folder.last = name;
  if (entry.kind != Entry::Kind::folder) return Done{};
  if (folders_.size() > kMostDeep) return wrong("with too many folders in one another");
  folders_.push_back({entry.path + "/", ""});
  return Done{};
}

Result<Entry> read_entry(Reader& reader) {
  Entry entry;
  const uint64_t kind = reader.number(1);
  entry.mode = static_cast<uint32_t>(reader.number(2));
  entry.changed = static_cast<int64_t>(reader.number(8));
  entry.size = reader.number(8);
  entry.path = reader.take(reader.number(4));
  entry.leads_to = reader.take(reader.number(4));
  if (!reader.good()) return wrong("that is cut off");
  if (kind < 1 || kind > 3 || entry.mode > 0777) return wrong("with an entry of no kind");
  entry.kind = static_cast<Entry::Kind>(kind);
  const bool is_link = entry.kind == Entry::Kind::link, is_file = entry.kind == Entry::Kind::file;
  if (is_link == entry.leads_to.empty() || entry.leads_to.size() >= PATH_MAX ||
      entry.leads_to.find('\0') != std::string::npos || (!is_file && entry.size != 0) ||
      entry.size > kMostContent)
    return wrong("with an entry that cannot be");
  return entry;
}

uint32_t hash_of(const std::string& path) {  // FNV-1a: the same everywhere
  uint32_t hash = 2166136261u;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash ^ (hash >> 15);
}

}  // namespace

uint64_t Tree::bytes() const {
  uint64_t sum = 0;
  for (const Entry& entry : entries) sum += entry.size;
  return sum;
}

size_t Tree::files() const {
  size_t count = 0;
  for (const Entry& entry : entries) count += entry.kind == Entry::Kind::file;
  return count;
}

std::string to_bytes(const Tree& tree) {
  std::string bytes(kMagic);
  put(bytes, tree.entries.size(), 4);
  put(bytes, tree.chunks.size(), 4);
  for (const Entry& entry : tree.entries) {
    put(bytes, static_cast<uint64_t>(entry.kind), 1);
    put(bytes, entry.mode, 2);
    put(bytes, static_cast<uint64_t>(entry.changed), 8);
    put(bytes, entry.size, 8);
    put(bytes, entry.path.size(), 4);
    bytes += entry.path;
    put(bytes, entry.leads_to.size(), 4);
    bytes += entry.leads_to;
  }
  for (const ChunkRef& chunk : tree.chunks) {
    bytes.append(reinterpret_cast<const char*>(chunk.digest.data()), chunk.digest.size());
    put(bytes, chunk.size, 4);
  }
  return bytes;
}

Result<Tree> read_tree(std::string_view bytes) {
  constexpr size_t kLeastEntry = 27, kChunk = 36;
  Reader reader(bytes);
  if (reader.take(kMagic.size()) != kMagic) return wrong("is wanted, and this is none");
  const uint64_t entries = reader.number(4), chunks = reader.number(4);
  if (!reader.good() || entries > reader.left() / kLeastEntry || chunks > reader.left() / kChunk)
    return wrong("that is cut off");
  Tree tree;
  Place place;
  uint64_t content = 0, cut = 0;
  for (uint64_t i = 0; i < entries; ++i) {
    tree.entries.push_back(TRY(read_entry(reader)));
    TRY(place.enter(tree.entries.back()));
    content += tree.entries.back().size;
    if (content > kMostContent) return wrong("with more than there can be");
  }
  for (uint64_t i = 0; i < chunks; ++i) {
    ChunkRef chunk;
    const std::string_view digest = reader.take(chunk.digest.size());
    std::copy(digest.begin(), digest.end(), chunk.digest.begin());
    chunk.size = static_cast<uint32_t>(reader.number(4));
    if (chunk.size == 0 || chunk.size > kMostInChunk) return wrong("with a chunk that cannot be");
    cut += chunk.size;
    tree.chunks.push_back(chunk);
  }
  if (!reader.at_end() || cut != content) return wrong("whose chunks are not its content");
  return tree;
}

Digest name_of(const Tree& tree) { return digest_of(to_bytes(tree)); }

bool Cutter::before(const std::string& path, uint64_t size) const {
  constexpr uint32_t kOneIn = 16;
  return filled_ > 0 && (size >= kLarge || size > room() || hash_of(path) % kOneIn == 0);
}

bool Cutter::after(uint64_t size) { return size >= kLarge; }

}  // namespace phalanx::data
