#include "sandbox/controllers/namespace_objects.hpp"

#include <utility>

namespace koord::sandbox {
namespace {

constexpr std::string_view kAccount = "default", kRootCa = "kube-root-ca.crt";

}  // namespace

NamespaceObjects::NamespaceObjects(Verbs& verbs)
    : verbs_(verbs),
      namespaces_(verbs.registry().get("", "namespaces")),
      accounts_(verbs.registry().get("", "serviceaccounts")),
      maps_(verbs.registry().get("", "configmaps")),
      queue_(verbs.clock(), [this](const std::string& ns) { sync(ns); }) {
  verbs_.store().add_observer(*this);
}

NamespaceObjects::~NamespaceObjects() { verbs_.store().remove_observer(*this); }

void NamespaceObjects::set_ca(std::string pem) {
  ca_ = std::move(pem);
  for (const auto& [key, space] : namespaces_.objects->in_namespace("")) queue_.add(space->name);
}

void NamespaceObjects::on_change(Collection& collection, const Change& change) {
  const Object& object = *change.object;
  const bool gone = change.type == Change::Type::deleted;
  if (&collection == namespaces_.objects) {
    if (change.type == Change::Type::added) queue_.add(object.name);
  } else if (gone && ((&collection == accounts_.objects && object.name == kAccount) ||
                      (&collection == maps_.objects && object.name == kRootCa))) {
    queue_.add(object.ns);
  }
}

void NamespaceObjects::sync(const std::string& ns) {
  const ObjectPtr space = namespaces_.objects->get("", ns);
  if (!space || space->deleting) return;
  make(accounts_, ns, kAccount, [](json::Document&) {});
  if (!ca_.empty())
    make(maps_, ns, kRootCa, [this](json::Document& doc) {
      set_text(object_at(doc, "data", doc.arena()), "ca.crt", ca_, doc.arena());
    });
}

void NamespaceObjects::make(const Kind& kind, const std::string& ns, std::string_view name,
                            const std::function<void(json::Document&)>& fill) {
  if (kind.objects->get(ns, name)) return;
  json::Document doc;
  doc.set_object();
  set_text(object_at(doc, "metadata", doc.arena()), "name", name, doc.arena());
  fill(doc);
  (void)verbs_.create(kind, ns, doc);
}

}  // namespace koord::sandbox
