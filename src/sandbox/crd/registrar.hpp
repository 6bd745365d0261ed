// Registrar: serves the kinds of CustomResourceDefinitions as they come and go.
#pragma once

#include "sandbox/base/wheel.hpp"
#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// The rules of CustomResourceDefinitions themselves: names, versions, Established.
KindRules crd_rules();

class Registrar final : public Observer {
 public:
  Registrar(Registry& registry, Clock& clock);
  ~Registrar() override;
  void on_change(Collection& collection, const Change& change) override;

 private:
  void add(const json::Value& crd);
  void remove(const json::Value& crd);

  Registry& registry_;
  Collection& definitions_;
  Wheel<std::string> wheel_;  // collections whose kind has gone
};

}  // namespace koord::sandbox
