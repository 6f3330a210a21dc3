// delivery.h - what a job needs comes to a machine: chunks that the store lacks from other machines of the
// job, files from the store to where they are wanted. What has come is passed on while the rest is coming.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "data/exchange.h"
#include "data/parcel.h"
#include "data/store.h"
#include "data/writer.h"

namespace phalanx::node {

struct Delivered {
  uint64_t received = 0;  // bytes that came over the network
  uint64_t kept = 0;      // bytes of content that were here before
};

class Delivery {
 public:
  struct Calls {  // one of them, once, from the loop
    std::function<void(const Delivered&)> done;
    std::function<void(const std::string& why)> failed;
  };
  Delivery(Loop& loop, std::string job, std::string secret, std::vector<data::Parcel> parcels, Calls calls);

  // The port at which others can have what has come. Nothing comes yet.
  Result<uint16_t> open(const std::string& store_folder);
  void begin(std::vector<data::Sender> senders);
  // Nobody needs anything of us any more. Inputs in place are held as long as this lives.
  void stop_giving();
  const std::string& store_folder() const { return store_folder_; }

 private:
  struct Piece {  // a parcel on its way
    data::Parcel parcel;
    std::optional<data::Tree> tree;
    std::optional<data::Writer> writer;
    std::string made;  // where it is written
    bool done = false;
  };
  void on_tree(const data::Digest& name, const data::Tree& tree);
  void look(Piece& piece);
  void on_chunk(const data::ChunkRef& ref, const std::string& content);
  void go_on();
  bool fill(Piece& piece, size_t& budget);  // false: it waits, or has failed
  Status start(Piece& piece);
  Status end(Piece& piece);
  void fail(const std::string& why);

  Loop& loop_;
  const std::string job_, secret_;
  const Calls calls_;
  std::string store_folder_;
  std::vector<Piece> pieces_;
  std::optional<data::Store> store_;
  std::unique_ptr<data::Giver> giver_;
  std::unique_ptr<data::Taker> taker_;
  std::vector<UniqueFd> held_;
  Delivered counted_;
  Loop::Timer later_;
  bool over_ = false;
};

}  // namespace phalanx::node
