// Verbs: what the API does to objects (create, update, delete, bind, evict), without HTTP. The simulated
// kubelets and controllers write through it too.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>

#include "koord/base/clock.hpp"
#include "sandbox/api/gate.hpp"
#include "sandbox/base/status.hpp"
#include "sandbox/kinds/kind.hpp"
#include "sandbox/store/store.hpp"

namespace koord::sandbox {

struct WriteOptions {
  bool dry_run = false;
  bool allow_create = false;  // update makes what does not exist
  Gate* gate = nullptr;       // null: nobody is asked
};

struct DeleteOptions {
  std::optional<std::int64_t> grace_seconds;
  std::string uid, resource_version;  // preconditions
  std::string propagation;            // Orphan, Background, Foreground or empty
  bool dry_run = false;
  Gate* gate = nullptr;
  bool review_only = false;  // ask, and leave the object where it is
};

/// As webhooks see them.
std::string delete_options_json(const DeleteOptions& options);

struct Deleted {
  ObjectPtr object;   // the last state
  bool gone = false;  // false: it waits for its grace period or finalizers
};

/// One thread. Documents are in the stored form of their kind (see Kind::to_stored).
class Verbs {
 public:
  Verbs(Store& store, Registry& registry, Clock& clock, std::uint64_t seed);

  /// `doc` is the body; the object's defaults are added to it.
  Outcome<ObjectPtr> create(const Kind& kind, std::string_view ns, json::Document& doc,
                            const WriteOptions& options = {});
  /// PUT of the object or of a subresource ("status").
  Outcome<ObjectPtr> update(const Kind& kind, std::string_view ns, std::string_view name,
                            std::string_view subresource, json::Document& doc,
                            const WriteOptions& options = {});
  /// Reads, edits, writes: what patches are.
  using Edit = std::function<Outcome<void>(json::Document&)>;
  Outcome<ObjectPtr> modify(const Kind& kind, std::string_view ns, std::string_view name,
                            std::string_view subresource, const Edit& edit, const WriteOptions& options = {});
  /// The same for edits that need no defaults and no validation: the sandbox's own.
  ObjectPtr write_trusted(const Kind& kind, const Object& old,
                          const std::function<void(json::Document&)>& edit);
  Outcome<Deleted> remove(const Kind& kind, std::string_view ns, std::string_view name,
                          const DeleteOptions& options = {});
  /// `binding` has the target, and labels and annotations, which go to the pod.
  Outcome<void> bind(std::string_view ns, std::string_view name, const json::Value& binding,
                     bool dry_run = false);
  Outcome<void> evict(std::string_view ns, std::string_view name, const DeleteOptions& options);
  /// Takes an object out without asking anyone.
  void erase(const Kind& kind, const Object& object);

  Store& store() const { return store_; }
  Registry& registry() const { return registry_; }
  Clock& clock() const { return clock_; }
  std::string now_text() const;  // RFC 3339, whole seconds
  std::string new_uid();
  std::string random_suffix();  // of generateName: five characters

 private:
  Outcome<void> check_namespace(const Kind& kind, std::string_view ns) const;
  Outcome<void> complete_new(const Kind& kind, std::string_view ns, const Gate::Identity& identity,
                             json::Document& doc);
  Outcome<void> complete_update(const Kind& kind, json::Value& before, json::Document& doc,
                                std::string_view subresource);
  Outcome<ObjectPtr> finish_update(const Kind& kind, const ObjectPtr& old, json::Value& before,
                                   json::Document& doc, std::string_view subresource,
                                   const WriteOptions& options);
  Outcome<ObjectPtr> commit(const Kind& kind, json::Document& doc, const WriteOptions& options);

  Store& store_;
  Registry& registry_;
  Clock& clock_;
  std::mt19937_64 random_;
};

}  // namespace koord::sandbox
