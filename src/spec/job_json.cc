#include "spec/job_json.h"

#include "spec/words.h"

namespace phalanx::spec {
namespace {

namespace json = boost::json;

// Writes fields into an object.
class Writer {
 public:
  static constexpr bool kWrites = true;
  explicit Writer(json::object& out) : out_(out) {}
  void field(const char* key, const std::string& value) { out_[key] = value; }
  void field(const char* key, int value) { out_[key] = value; }
  void field(const char* key, bool value) { out_[key] = value; }
  void field(const char* key, const json::object& value) { out_[key] = value; }
  void field(const char* key, const std::optional<int>& value) {
    if (value) out_[key] = *value;
  }
  void field(const char* key, const std::vector<std::string>& value) {
    out_[key] = json::array(value.begin(), value.end());
  }
  void field(const char* key, const std::map<std::string, std::string>& value) {
    json::object map;
    for (const auto& [name, text] : value) map[name] = text;
    out_[key] = std::move(map);
  }
  template <class Enum>
  void word(const char* key, Enum value) {
    out_[key] = word_of(value);
  }
  template <class T, class Each>
  void each(const char* key, std::map<std::string, T>& values, Each each_field) {
    json::object map;
    for (auto& [name, value] : values) {
      json::object one;
      Writer writer(one);
      each_field(writer, value);
      map[name] = std::move(one);
    }
    out_[key] = std::move(map);
  }
  template <class T, class Each>
  void list(const char* key, std::vector<T>& values, Each each_field) {
    json::array all;
    for (T& value : values) {
      json::object one;
      Writer writer(one);
      each_field(writer, value);
      all.push_back(std::move(one));
    }
    out_[key] = std::move(all);
  }
  template <class Inner>
  void group(const char* key, Inner inner) {
    json::object one;
    Writer writer(one);
    inner(writer);
    out_[key] = std::move(one);
  }

 private:
  json::object& out_;
};

// Reads the same fields out of an object; remembers the first value of a wrong kind.
class Loader {
 public:
  static constexpr bool kWrites = false;
  Loader(const json::object& in, std::string& wrong) : in_(in), wrong_(wrong) {}

  void field(const char* key, std::string& value) {
    read(key, &json::value::if_string, [&](const json::string& s) { value = s; });
  }
  void field(const char* key, bool& value) {
    read(key, &json::value::if_bool, [&](bool b) { value = b; });
  }
  void field(const char* key, int& value) {
    number(key, [&](int n) { value = n; });
  }
  void field(const char* key, std::optional<int>& value) {
    number(key, [&](int n) { value = n; });
  }
  void field(const char* key, json::object& value) {
    read(key, &json::value::if_object, [&](const json::object& o) { value = o; });
  }
  void field(const char* key, std::vector<std::string>& value) {
    read(key, &json::value::if_array, [&](const json::array& list) {
      for (const auto& item : list)
        if (item.is_string())
          value.emplace_back(item.as_string());
        else
          note(key);
    });
  }
  void field(const char* key, std::map<std::string, std::string>& value) {
    read(key, &json::value::if_object, [&](const json::object& map) {
      for (const auto& [name, item] : map)
        if (item.is_string())
          value[name] = item.as_string();
        else
          note(key);
    });
  }
  template <class Enum>
  void word(const char* key, Enum& value) {
    read(key, &json::value::if_string, [&](const json::string& text) {
      if (const auto known = from_word<Enum>(text))
        value = *known;
      else
        note(key);
    });
  }
  template <class T, class Each>
  void each(const char* key, std::map<std::string, T>& values, Each each_field) {
    read(key, &json::value::if_object, [&](const json::object& map) {
      for (const auto& [name, item] : map) {
        if (!item.is_object()) return note(key);
        Loader loader(item.get_object(), wrong_);
        each_field(loader, values[name]);
      }
    });
  }
  template <class T, class Each>
  void list(const char* key, std::vector<T>& values, Each each_field) {
    read(key, &json::value::if_array, [&](const json::array& all) {
      for (const auto& item : all) {
        if (!item.is_object()) return note(key);
        Loader loader(item.get_object(), wrong_);
        each_field(loader, values.emplace_back());
      }
    });
  }
  template <class Inner>
  void group(const char* key, Inner inner) {
    read(key, &json::value::if_object, [&](const json::object& object) {
      Loader loader(object, wrong_);
      inner(loader);
    });
  }

 private:
  void note(const char* key) {
    if (wrong_.empty()) wrong_ = key;
  }
  template <class Pointer, class Use>
  void read(const char* key, Pointer (json::value::*as)() const noexcept, Use use) {
    const json::value* value = in_.if_contains(key);
    if (!value || value->is_null()) return;
    if (const auto* typed = (value->*as)()) return use(*typed);
    note(key);
  }
  template <class Use>
  void number(const char* key, Use use) {
    const json::value* value = in_.if_contains(key);
    if (!value || value->is_null()) return;
    boost::system::error_code failed;
    const int n = value->to_number<int>(failed);
    if (failed) return note(key);
    use(n);
  }

  const json::object& in_;
  std::string& wrong_;
};

template <class Archive>
void input_fields(Archive& a, Input& input) {
  a.field("literal", input.literal);
  a.field("value", input.value);
  a.field("type", input.type);
  a.field("mode", input.mode);
  a.field("path", input.path);
}

template <class Archive>
void output_fields(Archive& a, Output& output) {
  a.field("type", output.type);
  a.field("mode", output.mode);
  a.field("path", output.path);
  a.field("name", output.name);
  a.field("version", output.version);
}

template <class Archive>
void distribution_fields(Archive& a, Distribution& d) {
  a.word("type", d.framework);
  a.word("launch", d.launch);
  a.field("process_count_per_instance", d.process_count_per_instance);
  a.field("worker_count", d.worker_count);
  a.field("parameter_server_count", d.parameter_server_count);
  a.field("chief", d.chief);
  a.field("pmi", d.pmi);
  a.field("ray", d.ray);
}

template <class Archive>
void resource_fields(Archive& a, Resources& r) {
  a.field("instance_count", r.instance_count);
  a.field("instance_type", r.instance_type);
  a.field("shm_size", r.shm_size);
  a.field("other", r.other);
}

template <class Archive>
void task_fields(Archive& a, Task& t) {
  a.field("name", t.name);
  a.field("group", t.group);
  a.field("command", t.command);
  a.field("units", t.units);
  a.field("depends_on", t.depends_on);
  a.field("required_nodes", t.required_nodes);
  a.field("environment_variables", t.environment_variables);
  a.field("working_directory", t.working_directory);
  a.field("input", t.input);
  a.field("output", t.output);
  a.field("error", t.error);
  a.field("id", t.id);
  a.field("instance", t.instance);
}

template <class Archive>
void text_fields(Archive& a, JobSpec& s) {
  a.field("name", s.name);
  a.field("display_name", s.display_name);
  a.field("experiment_name", s.experiment_name);
  a.field("description", s.description);
  a.field("command", s.command);
  a.field("code", s.code);
  a.field("compute", s.compute);
  a.field("parent_job_name", s.parent_job_name);
  a.field("base_folder", s.base_folder);
  a.field("argv", s.argv);
  a.field("environment_variables", s.environment_variables);
  a.field("tags", s.tags);
  a.field("properties", s.properties);
}

// Every field of a JobSpec, once, for writing and reading.
template <class Archive>
void fields(Archive& a, JobSpec& s) {
  text_fields(a, s);
  a.group("environment", [&](Archive& inner) {
    inner.field("reference", s.environment.reference);
    inner.field("inline", s.environment.inline_);
  });
  a.each("inputs", s.inputs, [](Archive& inner, Input& input) { input_fields(inner, input); });
  a.each("outputs", s.outputs, [](Archive& inner, Output& output) { output_fields(inner, output); });
  a.group("resources", [&](Archive& inner) { resource_fields(inner, s.resources); });
  a.group("distribution", [&](Archive& inner) { distribution_fields(inner, s.distribution); });
  a.field("services", s.services);
  a.field("identity", s.identity);
  a.field("queue_settings", s.queue_settings);
  a.word("isolation", s.isolation);
  a.field("priority", s.priority);
  a.field("oversubscribe", s.oversubscribe);
  a.field("requeue", s.requeue);
  a.field("required_nodes", s.required_nodes);
  a.list("tasks", s.tasks, [](Archive& inner, Task& task) { task_fields(inner, task); });
  a.word("resource_unit", s.resource_unit);
  a.field("fail_on_task_failure", s.fail_on_task_failure);
  auto timeout = s.timeout ? std::optional<int>(static_cast<int>(s.timeout->count())) : std::nullopt;
  int grace = static_cast<int>(s.stop_grace.count());
  a.field("timeout_s", timeout);
  a.field("stop_grace_ms", grace);
  if (Archive::kWrites) return;
  if (timeout) s.timeout = std::chrono::seconds(*timeout);
  s.stop_grace = std::chrono::milliseconds(grace);
}

}  // namespace

json::object to_json(const JobSpec& spec) {
  JobSpec copy = spec;  // fields() is one list for both ways, so it takes a JobSpec it could change
  json::object out;
  Writer writer(out);
  fields(writer, copy);
  return out;
}

Result<JobSpec> from_json(const json::object& object) {
  JobSpec spec;
  std::string wrong;
  Loader loader(object, wrong);
  fields(loader, spec);
  if (!wrong.empty()) return Error{Code::invalid, "the value of '" + wrong + "' is of the wrong kind"};
  return spec;
}

}  // namespace phalanx::spec
