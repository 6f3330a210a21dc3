// cluster.h - cluster.yml: machines that are to become a cluster.
//
//   name: lab
//   head: h1
//   nodes: h[1-4]
//   shared: {path: /shared}
//
// Pure. Errors as those of job files. docs/clusters.md has every key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/problem.h"

namespace phalanx::spec {

struct SharedFolder {
  enum class Kind { nfs, cifs, none };  // none: something else brings it, or there is none
  Kind kind = Kind::nfs;
  std::string path;  // on all machines; "": none is wanted
  // cifs
  std::string source;  // "//server/share/folder"
  std::string username, domain;
  std::string version = "3.0";  // of the protocol
  std::string folder_mode = "0777", file_mode = "0777";
  std::string password_file;  // on this machine, absolute; "": asked for, or $PHALANX_CLUSTER_PASSWORD
};

struct PyTorch {
  std::string version;                // "": what pip takes for the newest
  std::string index_url;              // "": pip's own
  std::vector<std::string> packages;  // beside torch, as pip takes them
  std::string path;                   // of the environment, absolute
};

struct Cluster {
  std::string name;
  std::string head;                // as ssh takes it, without a user
  std::vector<std::string> nodes;  // the same; the head may be one of them
  std::string user;                // "": ssh's own choice
  std::vector<std::string> ssh_options;
  std::string partition = "main";
  SharedFolder shared;
  std::optional<PyTorch> pytorch;
};

struct ReadCluster {
  Cluster cluster;
  std::vector<Problem> problems;  // errors: the rest is empty
};

// A relative password_file is relative to `base_folder`.
ReadCluster parse_cluster(std::string_view text, const std::string& file_name,
                          const std::string& base_folder);

}  // namespace phalanx::spec
