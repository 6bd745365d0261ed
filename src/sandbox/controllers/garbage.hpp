// Garbage: owners and namespaces: what goes when its owner or its namespace goes.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "sandbox/api/verbs.hpp"
#include "sandbox/base/wheel.hpp"

namespace koord::sandbox {

class Garbage final : public Observer {
 public:
  explicit Garbage(Verbs& verbs);
  ~Garbage() override;
  void on_change(Collection& collection, const Change& change) override;

 private:
  struct Dependent {
    std::string collection, ns, name;
    auto operator<=>(const Dependent&) const = default;
  };
  /// An owner that has gone or is going, or a namespace that ends.
  struct Job {
    enum class Type : std::uint8_t { owner_gone, owner_going, empty_namespace, orphaned };
    Type type;
    std::string collection, ns, name, uid;
  };

  void run(Job& job);
  void later(Job job) { wheel_.add({}, std::move(job)); }
  void owner_gone(const Job& job);
  void owner_going(const Job& job);
  void empty_later(const std::string& name);
  void empty_namespace(const std::string& name);
  bool owner_exists(const std::string& uid) const { return alive_.contains(uid); }
  std::shared_ptr<const Kind> kind_of(const std::string& collection) const;

  Verbs& verbs_;
  std::unordered_map<std::string, std::set<Dependent>> dependents_;  // by the owner's uid
  std::unordered_set<std::string> alive_;                            // uids of what may own
  std::set<std::string> ending_;                                     // namespaces with a job under way
  Wheel<Job> wheel_;
};

}  // namespace koord::sandbox
