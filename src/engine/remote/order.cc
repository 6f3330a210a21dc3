#include "engine/remote/order.h"

#include "spec/job_json.h"

namespace phalanx::engine::remote {

namespace json = boost::json;

namespace {

json::object to_json(const plan::AllocatedNode& node) {
  return {{"name", node.name},
          {"host", node.host},
          {"address", node.address},
          {"cpu_count", node.cpu_count},
          {"gpus", json::value_from(node.gpus)}};
}

plan::AllocatedNode read_node(const json::object& object) {
  plan::AllocatedNode node;
  node.name = json::value_to<std::string>(object.at("name"));
  node.host = json::value_to<std::string>(object.at("host"));
  node.address = json::value_to<std::string>(object.at("address"));
  node.cpu_count = object.at("cpu_count").to_number<int>();
  node.gpus = json::value_to<std::vector<std::string>>(object.at("gpus"));
  return node;
}

using Texts = std::map<std::string, std::string>;

}  // namespace

json::object to_json(const Order& order) {
  json::array nodes;
  for (const plan::AllocatedNode& node : order.allocation.nodes) nodes.push_back(to_json(node));
  return {{"spec", spec::to_json(order.spec)},
          {"job", order.allocation.job},
          {"folder", order.allocation.folder},
          {"inputs", json::value_from(order.allocation.inputs)},
          {"outputs", json::value_from(order.allocation.outputs)},
          {"attached_file", order.allocation.attached_file},
          {"nodes", std::move(nodes)},
          {"environment", json::value_from(order.environment)},
          {"job_text", order.job_text},
          {"parcels", data::to_json(order.parcels)},
          {"sent", order.sent},
          {"kept", order.kept},
          {"directory", order.directory},
          {"interface", order.interface},
          {"world", order.world},
          {"submitted", order.submitted},
          {"has_code", order.has_code},
          {"foreground", order.foreground},
          {"again", order.again}};
}

// Written by this very build: whatever is wrong with it is damage, not a choice.
Result<Order> read_order(const std::string& text) {
  try {
    const json::value value = json::parse(text);
    const json::object& object = value.as_object();
    Order order;
    order.spec = TRY(spec::from_json(object.at("spec").as_object()));
    plan::Allocation& allocation = order.allocation;
    allocation.job = json::value_to<std::string>(object.at("job"));
    allocation.folder = json::value_to<std::string>(object.at("folder"));
    allocation.inputs = json::value_to<Texts>(object.at("inputs"));
    allocation.outputs = json::value_to<Texts>(object.at("outputs"));
    allocation.attached_file = json::value_to<std::string>(object.at("attached_file"));
    for (const json::value& node : object.at("nodes").as_array())
      allocation.nodes.push_back(read_node(node.as_object()));
    order.environment = json::value_to<std::vector<std::string>>(object.at("environment"));
    order.job_text = json::value_to<std::string>(object.at("job_text"));
    order.parcels = TRY(data::read_parcels(object.at("parcels")));
    order.sent = object.at("sent").to_number<uint64_t>();
    order.kept = object.at("kept").to_number<uint64_t>();
    order.directory = json::value_to<std::string>(object.at("directory"));
    order.interface = json::value_to<std::string>(object.at("interface"));
    order.world = object.at("world").to_number<int>();
    order.submitted = object.at("submitted").to_number<double>();
    order.has_code = object.at("has_code").as_bool();
    order.foreground = object.at("foreground").as_bool();
    order.again = object.at("again").as_bool();
    return order;
  } catch (const std::exception& wrong) {
    return Error{Code::invalid, std::string("the order of the job is damaged: ") + wrong.what()};
  }
}

}  // namespace phalanx::engine::remote
