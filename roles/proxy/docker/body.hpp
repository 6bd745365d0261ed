// Docker's JSON bodies: what hooks are asked with, and changes that leave everything else as it came.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "docker/names.hpp"
#include "koord/base/result.hpp"
#include "koord/json/value.hpp"
#include "koord/rpc/cri.hpp"
#include "koord/rpc/hooks.hpp"

namespace koord::proxy::docker {

// Names of fields are read in any case, as Go does; of those that stand there twice the last one counts, and
// a change goes there.

/// The body of POST /containers/create.
class CreateBody {
 public:
  /// Code::parse: no JSON, no object, or one whose parts Docker would put together from several.
  static Result<CreateBody> read(std::string_view text);

  /// A kubelet made it, for a pod.
  bool of_kubernetes() const { return !type_.empty(); }
  bool is_sandbox() const { return type_ == kSandbox; }
  std::string_view sandbox_id() const { return sandbox_; }
  /// By the container's name, or by its labels; Code::invalid: neither tells whose it is.
  Result<Identity> identity(std::string_view name) const;

  rpc::hooks::PodRequest pod(const Identity& identity, bool systemd) const;
  /// All but what is the pod's: its names, labels, annotations and resources.
  rpc::hooks::ContainerRequest container(const Identity& identity, bool systemd) const;

  /// Docker knows neither hugepages nor unified resources at its create: they are left out.
  void apply(const rpc::cri::PodChange& change, const rpc::cri::ResourceChange& resources, bool systemd);
  void apply(const rpc::cri::ContainerChange& change, bool systemd);
  std::string text() const;

 private:
  json::Document body_;
  rpc::hooks::Map labels_;  // all, sorted
  std::string type_, sandbox_;
};

/// The body of POST /containers/ID/update.
class UpdateBody {
 public:
  static Result<UpdateBody> read(std::string_view text);
  rpc::hooks::Resources resources() const;
  /// The OOM score is not docker's to change.
  void apply(const rpc::cri::ResourceChange& change);
  std::string text() const;

 private:
  json::Document body_;
};

/// The id in the answer to a create.
Result<std::string> read_created(std::string_view text);

// What docker says of what it has.

struct Listed {
  std::vector<rpc::cri::ListedSandbox> pods;  // without cgroup parent and resources
  std::vector<rpc::cri::ListedContainer> containers;
};
/// The answer to GET /containers/json; those alone that a kubelet made.
Result<Listed> read_list(std::string_view text);

/// The answer to GET /containers/ID/json. Labels without annotations.
struct Inspected {
  std::string id;
  bool of_kubernetes = false, sandbox = false;
  std::string sandbox_id;  // of a container
  Identity identity;
  rpc::hooks::Map labels, annotations;
  std::string cgroup_parent;  // as docker has it
  rpc::hooks::Resources resources;
  rpc::hooks::Map env;  // secret
};
Result<Inspected> read_inspected(std::string_view text);

/// The answer to GET /info: whether cgroups are systemd's.
Result<bool> read_systemd(std::string_view text);

}  // namespace koord::proxy::docker
