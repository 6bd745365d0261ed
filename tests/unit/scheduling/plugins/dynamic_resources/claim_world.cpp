// ClaimWorld: see claim_world.hpp.
#include "claim_world.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "koord/api/schema/codec.hpp"

namespace koord::scheduling::test {

using namespace dynamic_resources;

namespace {

template <class T, class From>
T decoded(const From& from) {
  auto object = api::decode<T>(from);
  if (!object) throw std::runtime_error(object.error().message());
  return std::move(*object);
}

template <class F>
void each(const json::Value& row, std::string_view key, F&& f) {
  if (const json::Value* list = json::find(row, key))
    for (const json::Value& one : list->elements()) f(one);
}

template <class F>
void each_member(const json::Value& row, std::string_view key, F&& f) {
  if (const json::Value* map = json::find(row, key))
    for (const json::Member& one : map->members()) f(one.key(), one.value);
}

Features features_of(const json::Value& row) {
  Features features{.admin_access = false, .prioritized_list = false};
  const std::map<std::string_view, bool*> by_name = {{"admin", &features.admin_access},
                                                     {"prioritized", &features.prioritized_list},
                                                     {"partitionable", &features.partitionable_devices},
                                                     {"consumable", &features.consumable_capacity},
                                                     {"taints", &features.device_taints},
                                                     {"binding", &features.binding_conditions}};
  each(row, "features", [&](const json::Value& name) { *by_name.at(name.text()) = true; });
  return features;
}

}  // namespace

void ClaimWorld::add_slice(std::string_view json) {
  slices.push_back(std::make_shared<const Slice>(
      std::make_shared<const api::ResourceSlice>(decoded<api::ResourceSlice>(json)), numbers));
}

void ClaimWorld::add_class(std::string_view json) {
  auto object = decoded<api::DeviceClass>(json);
  const std::string name = object.metadata.name;
  classes.insert_or_assign(name, std::move(object));
}

void ClaimWorld::add_claim(std::string_view json) {
  claims.push_back(std::make_unique<api::ResourceClaim>(decoded<api::ResourceClaim>(json)));
}

DeviceNumber ClaimWorld::number(std::string_view id) {
  const std::size_t first = id.find('/'), second = id.find('/', first + 1);
  return numbers.hold({id.substr(0, first), id.substr(first + 1, second - first - 1), id.substr(second + 1)});
}

void ClaimWorld::read(const json::Value& row) {
  features = features_of(row);
  node.clear();
  if (const json::Value* at = json::find(row, "node")) {
    node = json::text_at(*at, "name");
    each_member(*at, "labels",
                [&](std::string_view key, const json::Value& value) { labels[key] = value.text(); });
  }
  each(row, "slices", [&](const json::Value& one) {
    slices.push_back(std::make_shared<const Slice>(
        std::make_shared<const api::ResourceSlice>(decoded<api::ResourceSlice>(one)), numbers));
  });
  each(row, "classes", [&](const json::Value& one) {
    auto object = decoded<api::DeviceClass>(one);
    const std::string name = object.metadata.name;
    classes.insert_or_assign(name, std::move(object));
  });
  each(row, "claims", [&](const json::Value& one) {
    claims.push_back(std::make_unique<api::ResourceClaim>(decoded<api::ResourceClaim>(one)));
  });
  each(row, "allocated", [&](const json::Value& id) { take(id.text()); });
  each_member(row, "consumed", [&](std::string_view id, const json::Value& amounts) {
    api::ResourceList capacity;
    for (const json::Member& amount : amounts.members())
      capacity[amount.key()] = api::Quantity::must(amount.value.text());
    consume(id, capacity);
  });
  each_member(row, "verdicts", [&](std::string_view expression, const json::Value& letters) {
    verdicts_.emplace(expression, letters.text());
  });
  each_member(row, "faults", [&](std::string_view expression, const json::Value& text) {
    faults_.emplace(expression, text.text());
  });
}

ClaimWorld::Judged ClaimWorld::judge(const Symbol& expression, const Slice& slice, std::uint32_t device) {
  ++evaluations;
  const auto verdict = [](bool yes) { return Judged(yes ? Verdict::yes : Verdict::no, ""); };
  if (const auto letters = verdicts_.find(expression.view()); letters != verdicts_.end()) {
    std::size_t at = device;
    for (const auto& before : slices) {
      if (before.get() == &slice) break;
      at += before->spec().devices.size();
    }
    const char letter = letters->second.at(at);
    if (letter == 'y' || letter == 'n') return verdict(letter == 'y');
    return {letter == 'c' ? Verdict::uncompiled : Verdict::failed, faults_.at(expression.str())};
  }
  const std::string_view text = expression;
  if (text.starts_with("driver=")) return verdict(slice.spec().driver == text.substr(7));
  if (text.starts_with("name=")) return verdict(slice.device(device).name == text.substr(5));
  if (text == "fails") return {Verdict::failed, "no such key"};
  return {Verdict::uncompiled, "compilation failed"};
}

Answer ClaimWorld::ask(Budget* budget, bool only_whether) {
  const auto pools = gather_pools(slices, {node, labels}, features);
  if (!pools)
    return {.kind = Answer::Kind::failed, .message = pools.error().message(), .results = {}, .steps = 0};
  std::vector<const api::ResourceClaim*> wanted;
  for (const auto& claim : claims) wanted.push_back(claim.get());
  const std::function<const api::DeviceClass*(std::string_view)> lookup = [&](std::string_view name) {
    const auto found = classes.find(name);
    return found == classes.end() ? nullptr : &found->second;
  };
  const std::function<std::string()> share = [] {
    return std::string("aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa");
  };
  KeptVerdicts verdicts([&](const Symbol& expression, const Slice& slice, std::uint32_t device) {
    return judge(expression, slice, device);
  });
  return allocate({.pools = *pools,
                   .claims = wanted,
                   .taken = taken,
                   .classes = lookup,
                   .verdicts = verdicts,
                   .features = features,
                   .budget = budget,
                   .share_id = share,
                   .only_whether = only_whether});
}

std::string ClaimWorld::said(Budget* budget) {
  const Answer answer = ask(budget);
  switch (answer.kind) {
    case Answer::Kind::found: break;
    case Answer::Kind::none: return "none";
    case Answer::Kind::failed_here: return "failed here: " + answer.message;
    case Answer::Kind::failed: return "failed: " + answer.message;
    case Answer::Kind::spent: return "spent: " + answer.message;
  }
  std::string text;
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    text += fmt::format("{}claim {}:", i == 0 ? "" : ", ", i);
    for (const auto& result : answer.results[i].devices.results)
      text += fmt::format(" {}={}/{}", result.request.view(), result.pool.view(), result.device.view());
  }
  return text;
}

}  // namespace koord::scheduling::test
