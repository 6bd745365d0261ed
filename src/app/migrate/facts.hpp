// What `koord migrate check` has read of a cluster, as plain values: everything in it is other people's text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "koord/api/types/core_v1/config_map.hpp"

namespace koord::app::migrate {

/// A container of a workload that runs one of Koordinator's programs, or koord.
struct Program {
  std::string role;      // koord's name of it; empty: koord has none
  std::string program;   // "koord-manager", as it is called
  std::string workload;  // "Deployment koordinator-system/koord-manager"
  std::string ns;
  std::string image;
  bool is_koord = false;  // it is koord already
  std::vector<std::string> arguments;
  /// Why the command line cannot be judged (a shell runs it); empty: it can.
  std::string unreadable;
  std::map<std::string, std::string> environment;  // what is written out in the workload
  /// Files that it is given of ConfigMaps: "NAMESPACE/NAME" and the key, by path.
  struct File {
    std::string config_map, key;
  };
  std::map<std::string, File> files;
};

struct Webhook {
  std::string configuration;  // "ValidatingWebhookConfiguration koordinator-..."
  std::string name, path;
  std::string failure_policy;
  std::int64_t timeout_seconds = 10;  // the API server's default
};

/// A definition of one of Koordinator's API groups, and what is there of it.
struct Kind {
  std::string name;                // "reservations.scheduling.koordinator.sh"
  std::string version;             // the version that is stored
  bool known = false;              // koord has it
  std::vector<std::string> lacks;  // served by koord, not by the definition: "spec.x", versions
  std::int64_t objects = 0;
  bool more = false;             // and there are more, which were not read
  std::vector<std::string> bad;  // "NAMESPACE/NAME: what"
  std::string unreadable;        // why they could not be listed
};

/// Nodes that are alike.
struct NodeGroup {
  std::string kubelet, runtime, kernel, architecture, os;
  std::vector<std::string> names;  // the first few
  std::int64_t nodes = 0;
  /// Of one of them, from its kubelet; empty: it could not be asked, `unreadable` says why.
  std::string asked, runtime_endpoint, cgroup_driver, cpu_manager, topology_manager;
  std::string unreadable;
};

struct Facts {
  std::string server, kubernetes;
  std::vector<Program> programs;
  std::map<std::string, api::ConfigMap> config_maps;  // "NAMESPACE/NAME": those that programs name
  std::map<std::string, std::string> missing_maps;    // those that cannot be read, and why
  std::vector<Webhook> webhooks;
  std::vector<Kind> kinds;
  std::vector<NodeGroup> nodes;
  std::vector<std::string> unreadable;  // what this user may not list, and what was too much to read
};

}  // namespace koord::app::migrate
