#include "spec/fields.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace phalanx::spec {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// To follow an unknown key: the one that was meant, else all of them where a person can take them in.
std::string what_is_allowed(const std::string& key, const std::vector<std::string>& allowed,
                            const std::string& docs) {
  constexpr size_t kFew = 6;
  if (const std::string meant = nearest(key, allowed); !meant.empty())
    return "; did you mean '" + meant + "'?";
  if (allowed.size() <= kFew) return "; allowed here: " + join(allowed);
  return "; " + docs + " lists the keys";
}

}  // namespace

void Fields::read(const Node& map, const std::string& where, const std::vector<Field>& fields) const {
  std::vector<std::string> allowed;
  for (const Field& field : fields)
    if (field.elsewhere.empty() && !(field.ours && azureml_only_)) allowed.push_back(field.key);
  for (const Entry& entry : map.entries) {
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.key == entry.key; });
    const std::string name = where.empty() ? entry.key : where + "." + entry.key;
    if (field == fields.end()) {
      report_.error(entry.place, "unknown key '" + shown(entry.key) + "'" +
                                     (where.empty() ? "" : " in " + where) +
                                     what_is_allowed(entry.key, allowed, docs_));
    } else if (!field->elsewhere.empty()) {
      report_.error(entry.place, "'" + shown(name) + "' " + field->elsewhere);
    } else if (field->ours && azureml_only_) {
      report_.error(entry.place, "'" + shown(name) +
                                     "' is Phalanx's own key, which Azure ML refuses; remove it from a file "
                                     "that has to run on both");
    } else {
      field->read(entry.value);
    }
  }
}

void Fields::wrong(const Node& node, const std::string& name, const std::string& right) const {
  report_.error(node.place, name + " is " + described(node) + "; it must be " + right);
}

bool Fields::is_map(const Node& node, const std::string& name, const std::string& cure) const {
  if (node.kind == Kind::map) return true;
  if (node.kind != Kind::null) wrong(node, name, "a mapping" + (cure.empty() ? "" : ", such as " + cure));
  return false;
}

Fields::Reader Fields::text(const std::string& name, std::string& into) const {
  return [this, name, &into](const Node& node) {
    if (node.kind == Kind::null) return;
    if (node.kind == Kind::text) return void(into = node.text);
    wrong(node, name, node.is_scalar() ? "text: put it in quotes ('" + shown(node.written) + "')" : "text");
  };
}

Fields::Reader Fields::scalar(const std::string& name, std::string& into) const {
  return [this, name, &into](const Node& node) {
    if (node.is_scalar()) return void(into = node.text);
    wrong(node, name, "one value: a text, a number or a boolean");
  };
}

std::optional<double> Fields::number(const Node& node) const {
  if (node.kind == Kind::integer || node.kind == Kind::real) return std::strtod(node.text.c_str(), nullptr);
  if (node.kind != Kind::text || node.text.empty() || node.text.size() > 32) return {};
  if (node.text.find_first_not_of("0123456789+-.eE") != std::string::npos) return {};
  char* end = nullptr;
  const double value = std::strtod(node.text.c_str(), &end);
  if (*end != '\0') return {};
  return value;
}

std::optional<int> Fields::whole(const Node& node, const std::string& name, int least) const {
  const std::string right = "a whole number, " + std::to_string(least) + " or more";
  const auto value = number(node);
  if (!value || !(*value >= least) || *value != std::floor(*value)) {
    wrong(node, name, right);
    return {};
  }
  if (*value > 1e9) {
    wrong(node, name, "at most 1,000,000,000");
    return {};
  }
  return static_cast<int>(*value);
}

Fields::Reader Fields::count(const std::string& name, int least, std::function<void(int)> set) const {
  return [this, name, least, set = std::move(set)](const Node& node) {
    if (node.kind == Kind::null) return;
    if (const auto value = whole(node, name, least)) set(*value);
  };
}

Fields::Reader Fields::boolean(const std::string& name, bool& into) const {
  return [this, name, &into](const Node& node) {
    if (node.kind == Kind::null) return;
    if (node.kind == Kind::boolean) return void(into = node.text == "True");
    wrong(node, name, "true or false");
  };
}

Fields::Reader Fields::choice(const std::string& name, std::vector<std::string> known,
                              std::string& into) const {
  return [this, name, known = std::move(known), &into](const Node& node) {
    if (node.kind == Kind::null) return;
    for (const std::string& word : known)
      if (node.kind == Kind::text && lower(node.text) == lower(word)) return void(into = word);
    const std::string meant = node.kind == Kind::text ? nearest(node.text, known) : "";
    wrong(node, name, "one of " + join(known) + (meant.empty() ? "" : " (did you mean '" + meant + "'?)"));
  };
}

Fields::Reader Fields::texts(const std::string& name, std::map<std::string, std::string>& into) const {
  return [this, name, &into](const Node& node) {
    if (!is_map(node, name, "{team: vision}")) return;
    for (const Entry& entry : node.entries) text(name + "." + shown(entry.key), into[entry.key])(entry.value);
  };
}

}  // namespace phalanx::spec
