// ClaimWorld: slices, classes and claims, and what allocate() says of them on a node.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/json/value.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/allocate.hpp"

namespace koord::scheduling::test {

/// In JSON as the API has it. Selectors are not CEL but "driver=NAME", "name=DEVICE", "fails" and "nonsense",
/// unless others judge.
class ClaimWorld {
 public:
  using Judged = std::pair<dynamic_resources::Verdict, std::string>;

  void add_slice(std::string_view json);
  void add_class(std::string_view json);
  void add_claim(std::string_view json);
  /// "DRIVER/POOL/DEVICE".
  void take(std::string_view id) { taken.take(number(id)); }
  void consume(std::string_view id, const api::ResourceList& capacity) {
    taken.consume(number(id), capacity);
  }
  /// One of tests/golden/scheduler/claims.jsonl, with its verdicts.
  void read(const json::Value& row);

  dynamic_resources::Answer ask(dynamic_resources::Budget* budget = nullptr, bool only_whether = false);
  /// "claim 0: REQUEST=POOL/DEVICE ...", or what kind of answer it is and its message.
  std::string said(dynamic_resources::Budget* budget = nullptr);

  dynamic_resources::DeviceNumbers numbers;  // before what holds them
  std::vector<std::shared_ptr<const dynamic_resources::Slice>> slices;
  std::map<std::string, api::DeviceClass, std::less<>> classes;
  std::vector<std::unique_ptr<api::ResourceClaim>> claims;
  dynamic_resources::Taken taken;
  dynamic_resources::Features features;
  std::string node = "node-1";
  api::SymbolMap labels;
  int evaluations = 0;

 private:
  dynamic_resources::DeviceNumber number(std::string_view id);
  Judged judge(const Symbol& expression, const dynamic_resources::Slice& slice, std::uint32_t device);

  /// By expression: a letter a device, slice by slice: y, n, e (an error), c (it does not compile).
  std::map<std::string, std::string, std::less<>> verdicts_, faults_;
};

}  // namespace koord::scheduling::test
