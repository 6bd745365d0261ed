#include "koord/api/koordinator/xpu_devices.hpp"

#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::api {
namespace {

using json::Value;

void new_line(std::string& out, std::size_t depth) {
  out += '\n';
  out.append(2 * depth, ' ');
}

/// As Go's json.MarshalIndent does with two spaces.
void append_indented(std::string& out, const Value& value, std::size_t depth) {
  bool first = true;
  const auto next = [&] {
    if (!first) out += ',';
    first = false;
    new_line(out, depth + 1);
  };
  if (value.is_object() && !value.members().empty()) {
    out += '{';
    for (const json::Member& member : value.members()) {
      next();
      json::append_string(out, member.key());
      out += ": ";
      append_indented(out, member.value, depth + 1);
    }
    new_line(out, depth);
    out += '}';
  } else if (value.is_array() && !value.elements().empty()) {
    out += '[';
    for (const Value& element : value.elements()) {
      next();
      append_indented(out, element, depth + 1);
    }
    new_line(out, depth);
    out += ']';
  } else {
    json::append(out, value);
  }
}

}  // namespace

KOORD_SCHEMA(XpuLink, ROW(peer_minor).always(), ROW(type).always());
KOORD_SCHEMA(XpuTopology, ROW(p2p_links).wire("p2pLinks"), ROW(must_honor_partition),
             ROW(socket_id).wire("socketID"), ROW(node_id).wire("nodeID"), ROW(pcie_id).wire("pcieID"),
             ROW(bus_id).wire("busID"));
KOORD_SCHEMA(XpuStatus, ROW(healthy).always(), ROW(err_code), ROW(err_message));
KOORD_SCHEMA(XpuDevice, ROW(vendor).always(), ROW(model).always(), ROW(uuid).always(), ROW(minor).always(),
             ROW(resources), ROW(topology), ROW(status));

std::string xpu_devices_text(std::span<const XpuDevice> devices) {
  json::Arena arena;
  Value list = Value::array();
  for (const XpuDevice& device : devices) list.push_back(encode(device, arena), arena);
  std::string out;
  append_indented(out, list, 0);
  return out;
}

}  // namespace koord::api
