// Vectors: inputs and what upstream's tests (koordinator, pkg/slo-controller and pkg/util/sloconfig) want of
// them, a case a line of tests/golden/manager/*.jsonl. What is not said is absent.
#pragma once

#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "framework/config/slo_config.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {

/// A case.
class Vector {
 public:
  explicit Vector(json::Document row) : row_(std::move(row)) {}

  const json::Value* find(std::string_view key) const { return json::find(row_, key); }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::string_view text(std::string_view key) const { return json::text_at(row_, key); }
  bool is(std::string_view key) const { return json::true_at(row_, key); }
  std::int64_t number(std::string_view key, std::int64_t otherwise = 0) const {
    return json::int_at(row_, key).value_or(otherwise);
  }
  double real(std::string_view key, double otherwise) const {
    const json::Value* const value = find(key);
    return value ? value->to_double().value_or(otherwise) : otherwise;
  }
  std::string json(std::string_view key) const {
    const json::Value* const value = find(key);
    return value ? json::to_text(*value) : "{}";
  }
  template <class T>
  T take(std::string_view key) const {
    return read<T>(json(key));
  }
  template <class T>
  static T read(const std::string& text) {
    auto decoded = api::decode<T>(text);
    INFO(text);
    REQUIRE(decoded.has_value());
    return std::move(*decoded);
  }
  template <class T>
  std::vector<std::shared_ptr<const T>> take_list(std::string_view key) const {
    std::vector<std::shared_ptr<const T>> all;
    if (const json::Value* list = find(key))
      for (const json::Value& one : list->elements())
        all.push_back(std::make_shared<const T>(read<T>(json::to_text(one))));
    return all;
  }

 private:
  json::Document row_;
};

/// Amounts by name; of what is not said none.
inline api::ResourceList resources(const json::Value* value) {
  api::ResourceList list;
  if (value == nullptr) return list;
  for (const json::Member& member : value->members())
    list[member.key()] = api::Quantity::must(member.value.text());
  return list;
}

/// The cases of these tables, in the file's order.
inline std::vector<Vector> vectors(std::string_view file, std::initializer_list<std::string_view> tables) {
  std::ifstream in(std::string(KOORD_GOLDEN) + "/manager/" + std::string(file) + ".jsonl");
  REQUIRE(in.good());
  std::vector<Vector> found;
  for (std::string line; std::getline(in, line);) {
    auto row = json::parse(line);
    REQUIRE(row.has_value());
    for (const std::string_view table : tables)
      if (json::text_at(*row, "table") == table) {
        found.emplace_back(std::move(*row));
        break;
      }
  }
  return found;
}

/// A configuration that encodes this strategy as the cluster's.
inline SloConfig configured(std::string_view key, const std::string& strategy) {
  SloConfig config;
  api::ConfigMap map;
  map.data["colocation-config"] = R"({"enable":true})";
  map.data[key] = strategy;
  CHECK(config.set(map).problems.empty());
  return config;
}

}  // namespace koord::manager
