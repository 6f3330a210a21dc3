#include "data/parcel.h"

namespace phalanx::data {

namespace json = boost::json;

json::array to_json(const std::vector<Parcel>& parcels) {
  json::array list;
  for (const Parcel& parcel : parcels)
    list.push_back(json::object{{"what", parcel.what},
                                {"tree", hex(parcel.tree)},
                                {"folder", parcel.folder},
                                {"in_place", parcel.in_place},
                                {"bytes", parcel.bytes}});
  return list;
}

Result<std::vector<Parcel>> read_parcels(const json::value& value) {
  try {
    std::vector<Parcel> parcels;
    for (const json::value& one : value.as_array()) {
      const json::object& object = one.as_object();
      Parcel parcel;
      parcel.what = json::value_to<std::string>(object.at("what"));
      parcel.tree = TRY(digest_from_hex(json::value_to<std::string>(object.at("tree"))));
      parcel.folder = json::value_to<std::string>(object.at("folder"));
      parcel.in_place = object.at("in_place").as_bool();
      parcel.bytes = object.at("bytes").to_number<uint64_t>();
      parcels.push_back(std::move(parcel));
    }
    return parcels;
  } catch (const std::exception& wrong) {
    return Error{Code::invalid, std::string("what the job needs is damaged: ") + wrong.what()};
  }
}

}  // namespace phalanx::data
