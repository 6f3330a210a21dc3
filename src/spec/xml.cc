#include "spec/xml.h"

#include <expat.h>

#include <algorithm>
#include <utility>

namespace phalanx::spec {
namespace {

constexpr char kBetween = '\x1f';  // of namespace and name, as expat joins them
constexpr std::string_view kBlanks = " \t\r\n";

std::string local_name(const char* name) {
  const std::string_view whole(name);
  const size_t at = whole.rfind(kBetween);
  return std::string(at == whole.npos ? whole : whole.substr(at + 1));
}

// Columns count characters, as those of YAML do.
void step(Place& place, char c) {
  if (c == '\n')
    ++place.line, place.column = 1;
  else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
    ++place.column;
}

// The values of a start tag's attributes: the name before each, and where it stands.
std::vector<std::pair<std::string, Place>> values_in(std::string_view tag, Place place) {
  std::vector<std::pair<std::string, Place>> values;
  std::string name;  // the last word that stood outside of quotes
  bool ended = false;
  char quote = 0;
  for (const char c : tag) {
    step(place, c);
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
      values.emplace_back(std::exchange(name, {}), place);
    } else if (c == '=' || kBlanks.find(c) != kBlanks.npos) {
      ended = true;
    } else {
      if (std::exchange(ended, false)) name.clear();
      name += c;
    }
  }
  return values;
}

class XmlReader {
 public:
  XmlReader(std::string_view text, Report& report)
      : text_(text), report_(report), parser_(::XML_ParserCreateNS(nullptr, kBetween)) {
    CHECK(parser_ != nullptr);
    ::XML_SetUserData(parser_, this);
    ::XML_SetElementHandler(
        parser_,
        [](void* self, const char* name, const char** attributes) {
          static_cast<XmlReader*>(self)->open(name, attributes);
        },
        [](void* self, const char*) { static_cast<XmlReader*>(self)->close(); });
    ::XML_SetCharacterDataHandler(parser_, [](void* self, const char* data, int length) {
      static_cast<XmlReader*>(self)->add_text({data, static_cast<size_t>(length)});
    });
    ::XML_SetStartDoctypeDeclHandler(parser_, [](void* self, const char*, const char*, const char*, int) {
      static_cast<XmlReader*>(self)->stop("a job of HPC Pack has no DOCTYPE, and none is read; remove it");
    });
  }
  ~XmlReader() { ::XML_ParserFree(parser_); }
  XmlReader(const XmlReader&) = delete;
  XmlReader& operator=(const XmlReader&) = delete;

  Element read() {
    const XML_Status status = ::XML_Parse(parser_, text_.data(), static_cast<int>(text_.size()), 1);
    if (status != XML_STATUS_OK && !stopped_)
      report_.error(here(), std::string("the XML is not well-formed: ") +
                                ::XML_ErrorString(::XML_GetErrorCode(parser_)));
    return std::move(root_);
  }

 private:
  Place here() const {
    return {static_cast<int>(::XML_GetCurrentLineNumber(parser_)),
            static_cast<int>(::XML_GetCurrentColumnNumber(parser_)) + 1, -1};
  }

  void stop(const std::string& why) {
    if (stopped_) return;
    stopped_ = true;
    report_.error(here(), why);
    ::XML_StopParser(parser_, XML_FALSE);
  }

  void open(const char* name, const char** attributes) {
    if (stopped_) return;
    if (path_.size() >= kMaxXmlDepth) return stop("elements are nested more than 32 deep");
    if (++elements_ > kMaxXmlElements) return stop("there are more than 100,000 elements");
    Element element;
    element.name = local_name(name);
    element.place = here();
    for (; *attributes != nullptr; attributes += 2)
      element.attributes.push_back({local_name(attributes[0]), attributes[1], element.place});
    give_places(element);
    Element* into = &root_;
    if (!path_.empty()) into = &path_.back()->children.emplace_back();
    *into = std::move(element);
    path_.push_back(into);
  }

  // expat says where a tag begins. Its bytes are ours only where the text is in expat's own encoding.
  void give_places(Element& element) const {
    const auto at = ::XML_GetCurrentByteIndex(parser_);
    const int length = ::XML_GetCurrentByteCount(parser_);
    if (at < 0 || length <= 0 || static_cast<size_t>(at) + static_cast<size_t>(length) > text_.size()) return;
    const std::string_view tag = text_.substr(static_cast<size_t>(at), static_cast<size_t>(length));
    auto values = values_in(tag, element.place);
    // Declarations of namespaces are no attributes of ours, but stand in the tag.
    std::erase_if(values, [](const auto& value) {
      return value.first == "xmlns" || value.first.starts_with("xmlns:");
    });
    for (size_t i = 0; values.size() == element.attributes.size() && i < values.size(); ++i)
      element.attributes[i].place = values[i].second;
  }

  // Pointers into children stay: only the last child of each element on the path is open.
  void close() {
    if (!stopped_) path_.pop_back();
  }

  void add_text(std::string_view text) {
    if (!stopped_ && !path_.empty()) path_.back()->text += text;
  }

  std::string_view text_;
  Report& report_;
  XML_Parser parser_;
  Element root_;
  std::vector<Element*> path_;
  size_t elements_ = 0;
  bool stopped_ = false;
};

}  // namespace

const Attribute* Element::find(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const Attribute& known) { return known.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

const Element* Element::child(std::string_view wanted) const {
  const auto found = std::find_if(children.begin(), children.end(),
                                  [&](const Element& known) { return known.name == wanted; });
  return found == children.end() ? nullptr : &*found;
}

// No job file of YAML or JSON begins so.
bool looks_like_xml(std::string_view text) {
  constexpr std::string_view kUtf16[] = {{"\xFF\xFE<\0", 4}, {"\xFE\xFF\0<", 4}};
  for (const std::string_view start : kUtf16)
    if (text.starts_with(start)) return true;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const size_t first = text.find_first_not_of(kBlanks);
  return first != text.npos && text[first] == '<';
}

Element parse_xml(std::string_view text, Report& report) { return XmlReader(text, report).read(); }

}  // namespace phalanx::spec
