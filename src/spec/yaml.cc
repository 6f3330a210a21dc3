#include "spec/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "spec/yaml_text.h"

namespace phalanx::spec {
namespace {

Place place_of(const yaml_mark_t& mark) {
  return {static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1, -1};
}

std::string_view view(const yaml_char_t* text) {
  return text ? std::string_view(reinterpret_cast<const char*>(text)) : std::string_view();
}

struct Event {
  yaml_event_t raw{};
  Event() = default;
  ~Event() { yaml_event_delete(&raw); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Place place() const { return place_of(raw.start_mark); }
};

struct Size {  // what a tree costs where an alias copies it
  size_t nodes = 1, bytes = 0, depth = 0;
};

Size size_of(const Node& node) {
  Size sum{1, node.text.size() + node.written.size(), node.is_scalar() ? 0u : 1u};
  const auto add = [&sum](const Node& child) {
    const Size size = size_of(child);
    sum.nodes += size.nodes;
    sum.bytes += size.bytes;
    sum.depth = std::max(sum.depth, size.depth + 1);
  };
  for (const Node& item : node.items) add(item);
  for (const Entry& entry : node.entries) sum.bytes += entry.key.size(), add(entry.value);
  return sum;
}

// Builds the tree from libyaml's events, with a stack of open lists and maps.
class Builder {
 public:
  Builder(std::string_view text, bool json, Report& report) : text_(text), json_(json), report_(report) {
    CHECK(yaml_parser_initialize(&parser_) == 1);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Builder() { yaml_parser_delete(&parser_); }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Node run() {
    while (!done_) step();
    return std::move(root_);
  }

 private:
  struct Open {
    Node node;
    std::string anchor;
    bool has_key = false;  // maps: the key is read, its value is not
    std::string key;
    Place key_place;
    bool merges = false;   // the key is `<<`
    bool refused = false;  // the key is an error: its value is read and dropped
    std::set<std::string, std::less<>> keys;
    std::set<std::string, std::less<>> merged_keys;
    std::vector<Entry> merged;
  };
  struct Anchor {
    Node node;
    Size size;
  };

  void fail(const Place& place, std::string text) {
    report_.error(place, std::move(text));
    done_ = true;
  }
  bool key_expected() const {
    return !open_.empty() && open_.back().node.kind == Kind::map && !open_.back().has_key;
  }

  void step();
  void fail_syntax();
  void start_document(const Event& event);
  void end_stream();
  void scalar(const Event& event);
  void alias(const Event& event);
  void open(const Event& event, Kind kind, std::string_view anchor, std::string_view tag);
  void close(const Event& event);
  bool spend(const Size& size, const Place& place);
  void take(Node node, bool plain, const std::string& anchor);
  void take_key(const Node& node, bool plain);
  void merge(Open& into, Node node) const;
  Node scalar_node(const Event& event);

  std::string_view text_;
  bool json_;
  Report& report_;
  yaml_parser_t parser_;
  Node root_;
  std::vector<Open> open_;
  std::map<std::string, Anchor, std::less<>> anchors_;
  size_t nodes_ = 0, bytes_ = 0;
  bool started_ = false, done_ = false;
};

void Builder::step() {
  Event event;
  if (yaml_parser_parse(&parser_, &event.raw) == 0) return fail_syntax();
  const auto& data = event.raw.data;
  switch (event.raw.type) {
    case YAML_DOCUMENT_START_EVENT:
      return start_document(event);
    case YAML_SCALAR_EVENT:
      return scalar(event);
    case YAML_ALIAS_EVENT:
      return alias(event);
    case YAML_SEQUENCE_START_EVENT:
      return open(event, Kind::list, view(data.sequence_start.anchor), view(data.sequence_start.tag));
    case YAML_MAPPING_START_EVENT:
      return open(event, Kind::map, view(data.mapping_start.anchor), view(data.mapping_start.tag));
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      return close(event);
    case YAML_STREAM_END_EVENT:
      return end_stream();
    default:
      return;
  }
}

void Builder::fail_syntax() {
  if (parser_.error == YAML_READER_ERROR || !parser_.problem) return fail({}, "cannot be read as text");
  SyntaxError error{
      parser_.problem, parser_.context ? parser_.context : "", place_of(parser_.problem_mark), {}};
  if (parser_.context) error.context_place = place_of(parser_.context_mark);
  Cure cure = explain(text_, error);
  fail(cure.place, std::move(cure.text));
}

void Builder::start_document(const Event& event) {
  if (started_) return fail(event.place(), "a second document starts here ('---'); a job file holds one");
  started_ = true;
}

void Builder::end_stream() {
  if (!started_) return fail({}, "is empty; a job file needs at least 'command' and 'environment'");
  done_ = true;
}

bool Builder::spend(const Size& size, const Place& place) {
  nodes_ += size.nodes;
  bytes_ += size.bytes;
  if (nodes_ > kMaxYamlNodes || bytes_ > kMaxYamlText) {
    fail(place,
         "the file grows past 100,000 values or 16 MiB (aliases count as what they stand for); make it "
         "smaller");
    return false;
  }
  if (open_.size() + size.depth > kMaxYamlDepth) {
    fail(place, "lists and mappings more than 64 levels deep; make the file flatter");
    return false;
  }
  return true;
}

Node Builder::scalar_node(const Event& event) {
  const auto& data = event.raw.data.scalar;
  const std::string_view written(reinterpret_cast<const char*>(data.value), data.length);
  constexpr std::string_view kPrefix = "tag:yaml.org,2002:";
  Scalar scalar{Kind::text, std::string(written), ""};
  if (data.plain_implicit) {
    scalar = resolve_plain(written);
    if (json_ && scalar.kind == Kind::text)
      scalar = {Kind::real, python_float(std::strtod(std::string(written).c_str(), nullptr)), ""};
  } else if (!data.quoted_implicit) {
    const std::string tag(view(data.tag));
    const std::string name = tag.starts_with(kPrefix) ? tag.substr(kPrefix.size()) : tag;
    const std::pair<const char*, Kind> kinds[] = {{"str", Kind::text},   {"int", Kind::integer},
                                                  {"float", Kind::real}, {"bool", Kind::boolean},
                                                  {"null", Kind::null},  {"timestamp", Kind::timestamp}};
    const auto* found =
        std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& k) { return k.first == name; });
    if (found != std::end(kinds)) {
      scalar = construct(found->second, written);
    } else {
      report_.error(event.place(), "the tag !!" + shown(name) + " has no meaning in a job file; remove it");
    }
  }
  if (!scalar.error.empty())
    report_.error(event.place(), "'" + shown(written, 40) + "' is read as " + scalar.error +
                                     "; put it in quotes if text is meant");
  if (written.find('\0') != written.npos)
    report_.error(event.place(), "a NUL character in a text; remove it");
  Node node;
  node.kind = scalar.kind;
  node.place = event.place();
  node.end = place_of(event.raw.end_mark);
  node.text = std::move(scalar.text);
  if (node.kind != Kind::text) node.written = written;
  return node;
}

void Builder::scalar(const Event& event) {
  Node node = scalar_node(event);
  if (!spend(size_of(node), node.place)) return;
  const auto& data = event.raw.data.scalar;
  take(std::move(node), data.style == YAML_PLAIN_SCALAR_STYLE && data.plain_implicit,
       std::string(view(data.anchor)));
}

void Builder::alias(const Event& event) {
  const std::string name(view(event.raw.data.alias.anchor));
  const auto found = anchors_.find(name);
  if (found == anchors_.end())
    return fail(event.place(), "the alias *" + shown(name) + " has no anchor &" + shown(name) +
                                   " before it; put a value that starts with '*' in quotes");
  if (!spend(found->second.size, event.place())) return;
  Node node = found->second.node;
  node.place = event.place();
  take(std::move(node), false, "");
}

void Builder::open(const Event& event, Kind kind, std::string_view anchor, std::string_view tag) {
  if (key_expected()) return fail(event.place(), "a list or mapping as a key; a key is a text");
  if (!spend({1, 0, 1}, event.place())) return;
  if (!tag.empty() && tag != (kind == Kind::list ? "tag:yaml.org,2002:seq" : "tag:yaml.org,2002:map") &&
      tag != "!")
    report_.error(event.place(), "the tag " + shown(tag) + " has no meaning in a job file; remove it");
  open_.emplace_back();
  open_.back().node.kind = kind;
  open_.back().node.place = event.place();
  open_.back().anchor = anchor;
}

void Builder::close(const Event& event) {
  Open closed = std::move(open_.back());
  open_.pop_back();
  auto& entries = closed.node.entries;
  std::erase_if(closed.merged, [&](const Entry& entry) { return closed.keys.count(entry.key) > 0; });
  entries.insert(entries.begin(), std::make_move_iterator(closed.merged.begin()),
                 std::make_move_iterator(closed.merged.end()));
  closed.node.end = place_of(event.raw.end_mark);
  take(std::move(closed.node), false, closed.anchor);
}

void Builder::take_key(const Node& node, bool plain) {
  Open& map = open_.back();
  map.has_key = true;
  map.merges = plain && node.text == "<<";
  map.refused = false;
  map.key = node.text;
  map.key_place = node.place;
  const auto refuse = [&](std::string text) {
    map.refused = true;
    report_.error(node.place, std::move(text));
  };
  if (node.kind != Kind::text)
    return refuse("the key '" + shown(node.written) + "' is read as " + described(node) +
                  ", not as text; put it in quotes");
  if (node.text.size() > kMaxYamlKey)
    return refuse("a key of " + std::to_string(node.text.size()) + " bytes (" + shown(node.text, 40) +
                  "); a key has at most 1,000 characters");
  if (!map.keys.insert(node.text).second)
    refuse("the key '" + shown(node.text) + "' stands twice in this mapping; keep one of them");
}

void Builder::take(Node node, bool plain, const std::string& anchor) {
  if (!anchor.empty()) {
    const Size size = size_of(node);
    if (!spend({size.nodes, size.bytes, 0}, node.place)) return;
    anchors_.insert_or_assign(anchor, Anchor{node, size});
  }
  if (open_.empty()) {
    root_ = std::move(node);
    return;
  }
  Open& parent = open_.back();
  if (parent.node.kind == Kind::list) {
    parent.node.items.push_back(std::move(node));
    return;
  }
  if (!parent.has_key) {
    if (!node.is_scalar()) return fail(node.place, "a list or mapping as a key; a key is a text");
    return take_key(node, plain);
  }
  parent.has_key = false;
  if (parent.refused) return;
  if (parent.merges) return merge(parent, std::move(node));
  parent.node.entries.push_back({parent.key, parent.key_place, std::move(node)});
}

void Builder::merge(Open& into, Node node) const {
  const auto add = [&](Node& map) {
    if (map.kind != Kind::map)
      return report_.error(map.place, "'<<' takes a mapping or a list of mappings, not " + described(map));
    for (Entry& entry : map.entries)
      if (into.merged_keys.insert(entry.key).second) into.merged.push_back(std::move(entry));
  };
  if (node.kind != Kind::list) return add(node);
  for (Node& item : node.items) add(item);
}

}  // namespace

const Entry* Node::entry(std::string_view key) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

const Node* Node::find(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

Node* Node::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

std::string described(const Node& node) {
  switch (node.kind) {
    case Kind::null:
      return "nothing";
    case Kind::boolean:
      return "the boolean " + shown(node.written);
    case Kind::integer:
    case Kind::real:
      return "the number " + shown(node.written);
    case Kind::timestamp:
      return "the date " + shown(node.written);
    case Kind::text:
      return "the text '" + shown(node.text) + "'";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a mapping";
  }
  return "";
}

Node parse_yaml(std::string_view text, Report& report) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  check_text(text, report);
  if (report.failed()) return {};
  if (const auto json = json_as_yaml(text)) return Builder(*json, true, report).run();
  return Builder(text, false, report).run();
}

namespace {

// The byte at a place; columns count characters, as libyaml's do.
size_t offset_of(std::string_view text, const Place& place) {
  size_t at = 0;
  for (int line = 1; line < place.line; ++line) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  for (int column = 1; column < place.column && at < text.size() && text[at] != '\n'; ++column) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

}  // namespace

Place find_in(std::string_view text, const Place& from, const Place& to, std::string_view needle, size_t n) {
  if (text.empty() || from.line < 1 || from.set >= 0) return from;
  const size_t start = offset_of(text, from);
  const size_t end = std::min(offset_of(text, to), text.size());
  size_t at = text.find(needle, start);
  while (n-- > 0 && at != text.npos) at = text.find(needle, at + 1);
  if (at == text.npos || at >= end) return from;
  Place place{1, 1, -1};
  for (size_t i = 0; i < at; ++i) {
    if (text[i] == '\n') ++place.line, place.column = 0;
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) ++place.column;
  }
  return place;
}

}  // namespace phalanx::spec
