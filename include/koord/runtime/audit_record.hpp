// AuditRecord: one modification of the cluster: who wanted it, of what, and what came of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/api/schema/schema.hpp"
#include "koord/api/values/time.hpp"

namespace koord::json {
class Value;
}
namespace koord::kube {
struct Initiator;
}
namespace koord::net {
struct Request;
}

namespace koord::runtime {

/// Names and words for people, never values of objects. See docs of the rows.
struct AuditRecord {
  std::string id;
  api::MicroTime time;
  std::string user;
  std::string profile, plugin;
  std::vector<std::string> wanted_by;
  std::string reason;
  std::string verb;
  std::string resource, namespace_, name, subresource, uid;
  std::vector<std::string> changes;
  bool dry_run = false;
  std::string result;
  std::string error, message;
  api::Duration took;
  KOORD_STRUCT(AuditRecord);

  // What `result` says; empty: nothing is known yet.
  static constexpr std::string_view kDone = "done", kRefused = "refused", kConflict = "conflict",
                                    kNotSent = "notSent", kUnknown = "unknown", kAdmitted = "admitted";
  static constexpr std::size_t kMaxText = 1024, kMaxName = 256, kMaxChanges = 16, kMaxWantedBy = 4;

  /// "RESOURCE/NAMESPACE/NAME", without the parts that are empty.
  std::string object() const;
  /// Cuts texts and lists to those bounds.
  void bound();
  std::size_t bytes() const;
};

/// What a request to an API server is going to change. Everything but its time, number and result.
AuditRecord record_of(const net::Request& request, const kube::Initiator* by);

/// Which fields a patch sets, "-" before those that it removes: "metadata.labels[app]", "spec.taints". Guards
/// (uid, resourceVersion) are none.
std::vector<std::string> fields_of_patch(const json::Value& patch);
/// Which fields two versions of an object differ in, in the same words; what the API server itself keeps
/// (managedFields, generation, ...) does not count.
std::vector<std::string> changed_fields(const json::Value& before, const json::Value& after);

}  // namespace koord::runtime
