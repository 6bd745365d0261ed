// NamespaceObjects: what every namespace has without anybody making it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sandbox/api/verbs.hpp"
#include "sandbox/controllers/work_queue.hpp"

namespace koord::sandbox {

/// The controllers of service accounts and of the root CA: each namespace has a ServiceAccount `default` and
/// a ConfigMap `kube-root-ca.crt`. One that is deleted is made anew; one that is changed stays as it is.
class NamespaceObjects final : public Observer {
 public:
  explicit NamespaceObjects(Verbs& verbs);
  ~NamespaceObjects() override;
  /// What verifies the API server, PEM. Before it is given there are no ConfigMaps.
  void set_ca(std::string pem);
  void on_change(Collection& collection, const Change& change) override;

 private:
  void sync(const std::string& ns);
  void make(const Kind& kind, const std::string& ns, std::string_view name,
            const std::function<void(json::Document&)>& fill);

  Verbs& verbs_;
  const Kind &namespaces_, &accounts_, &maps_;
  std::string ca_;
  WorkQueue<std::string> queue_;
};

}  // namespace koord::sandbox
