// fields.h - reading the keys of a mapping: one table of keys per mapping, one function per kind of value.
//
// Inner header of spec. A reader that meets a wrong value reports it and leaves its target as it was; null is
// the same as absent.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spec/problem.h"
#include "spec/yaml.h"

namespace phalanx::spec {

struct Field {
  std::string key;
  std::function<void(const Node&)> read = {};
  bool ours = false;  // Phalanx's own, not Azure ML's
  // Not empty: known to people, but not allowed here, and why; `read` is not called.
  std::string elsewhere = {};
};

class Fields {
 public:
  // `docs`: the page that lists the keys.
  Fields(Report& report, bool azureml_only, std::string docs = "docs/job-file.md")
      : report_(report), azureml_only_(azureml_only), docs_(std::move(docs)) {}

  // Calls the field of every key; unknown keys are errors. `where` names the mapping: "resources", "" for the
  // top.
  void read(const Node& map, const std::string& where, const std::vector<Field>& fields) const;

  using Reader = std::function<void(const Node&)>;
  Reader text(const std::string& name, std::string& into) const;
  Reader scalar(const std::string& name, std::string& into) const;  // of any kind, as Python's str()
  Reader count(const std::string& name, int least, std::function<void(int)> set) const;
  Reader boolean(const std::string& name, bool& into) const;
  // One of `known`, in any case of letters; `into` becomes the word as in `known`.
  Reader choice(const std::string& name, std::vector<std::string> known, std::string& into) const;
  Reader texts(const std::string& name, std::map<std::string, std::string>& into) const;
  Reader any() const {
    return [](const Node&) {};
  }

  // A whole number >= least, '2' and 2.0 included; otherwise an error.
  std::optional<int> whole(const Node& node, const std::string& name, int least) const;
  std::optional<double> number(const Node& node) const;
  bool is_map(const Node& node, const std::string& name, const std::string& cure) const;
  void wrong(const Node& node, const std::string& name, const std::string& right) const;
  Report& report() const { return report_; }
  bool azureml_only() const { return azureml_only_; }

 private:
  Report& report_;
  bool azureml_only_;
  std::string docs_;
};

}  // namespace phalanx::spec
