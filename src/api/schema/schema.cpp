// Schemas: the index of the rows, and names of kinds.
#include "koord/api/schema/table.hpp"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

namespace koord::api {
namespace {

void flatten(std::span<const Field> rows, uint32_t base, std::vector<Field>& out) {
  for (const Field& row : rows) {
    if (row.has(Field::kUnlisted)) continue;
    Field field = row;
    field.offset += base;
    if (row.has(Field::kInlined))
      flatten(row.type->schema().fields(), field.offset, out);
    else
      out.push_back(field);
  }
}

/// Of the length and up to eight bytes of each end: names of one struct seldom differ in their middle only.
size_t slot_of(std::string_view name) {
  const char* const last = name.data() + name.size();
  uint64_t head = 0, tail = 0;
  if (name.size() >= 8) {
    std::memcpy(&head, name.data(), 8);
    std::memcpy(&tail, last - 8, 8);
  } else if (name.size() >= 4) {
    std::memcpy(&head, name.data(), 4);
    std::memcpy(&tail, last - 4, 4);
  } else if (!name.empty()) {
    head = static_cast<unsigned char>(name[0]) | static_cast<uint64_t>(name[name.size() / 2]) << 8;
    tail = static_cast<unsigned char>(name.back());
  }
  const uint64_t hash = (head ^ (tail * 0x9e3779b97f4a7c15) ^ name.size()) * 0xff51afd7ed558ccd;
  return static_cast<size_t>(hash >> 40);
}

}  // namespace

Schema::Schema(std::string_view name, std::span<const Field> rows, const Type& self, const Kind* kind)
    : name_(name), kind_(kind), self_(&self) {
  flatten(rows, 0, fields_);
  if (fields_.size() > 250) throw std::length_error("schema has too many fields");
  size_t slots = 4;
  while (slots < fields_.size() * 2) slots *= 2;
  index_.assign(slots, 0);
  for (size_t i = 0; i < fields_.size(); ++i) {
    size_t slot = slot_of(fields_[i].name) & (slots - 1);
    while (index_[slot] != 0) slot = (slot + 1) & (slots - 1);
    index_[slot] = static_cast<uint8_t>(i + 1);
  }
}

const Field* Schema::find(std::string_view name) const {
  const size_t mask = index_.size() - 1;
  for (size_t slot = slot_of(name) & mask; index_[slot] != 0; slot = (slot + 1) & mask) {
    const Field& field = fields_[index_[slot] - 1u];
    if (field.name == name) return &field;
  }
  return nullptr;
}

const Kind& kind_of(const Schema& schema) { return *schema.kind(); }

std::string Kind::api_version() const {
  return group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
}

std::string Kind::singular() const {
  std::string text(kind);
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace koord::api
