// Kubernetes' protobuf on the wire: what is read, what is skipped, what is refused.
#include <catch2/catch.hpp>

#include <cstdint>

#include "cluster.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/protobuf/decode.hpp"
#include "support/sanitized.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}
std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
std::string bytes(int field, const std::string& value) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(value.size()) + value;
}
std::string body(const std::string& version, const std::string& kind, const std::string& object) {
  return std::string("k8s\0", 4) + bytes(1, bytes(1, version) + bytes(2, kind)) + bytes(2, object);
}
std::string decoded(const std::string& text) {
  json::Document doc;
  const auto read = koord::sandbox::decode_protobuf(text, doc);
  return read ? json::to_text(doc) : read.error().message();
}
const std::string kHead = R"({"apiVersion":"v1","kind":"ConfigMap")";
constexpr const char* kMalformed = "the protobuf body is malformed";

}  // namespace

TEST_CASE("a message is read by the table, what the table lacks is skipped") {
  const std::string meta = bytes(1, "m") + bytes(11, bytes(1, "b") + bytes(2, "2")) +
                           bytes(11, bytes(1, "a") + bytes(2, "1")) +
                           bytes(11, bytes(1, "b") + bytes(2, "3"));
  CHECK(decoded(body("v1", "ConfigMap", bytes(1, meta))) ==
        kHead + R"(,"metadata":{"name":"m","labels":{"a":"1","b":"3"}}})");
  // Unknown fields of every wire type: number, 8 bytes, bytes, a group, 4 bytes.
  const std::string group = varint(77 << 3 | 3) + number(1, 5) + varint(77 << 3 | 4);
  CHECK(decoded(body("v1", "ConfigMap",
                     number(70, 1) + varint(71 << 3 | 1) + std::string(8, 'x') + bytes(72, "x") + group +
                         varint(73 << 3 | 5) + "xxxx" + bytes(1, bytes(1, "m")))) ==
        kHead + R"(,"metadata":{"name":"m"}})");
  CHECK(decoded(body("v1", "Unheard", "")) == "no protobuf form of kind Unheard in version v1 is known here");
}

TEST_CASE("what is truncated, overlong, mistyped, too deep or no text is refused") {
  const std::string good = body("v1", "ConfigMap", bytes(1, bytes(1, "name")));
  for (std::size_t size = 0; size < good.size(); ++size) {
    // The object may end where a field ends; the envelope then has none.
    const std::string cut = decoded(good.substr(0, size));
    CAPTURE(size, cut);
    CHECK((cut == kMalformed || cut == kHead + "}" || cut.starts_with("no protobuf form")));
  }
  const std::string overlong = std::string(10, '\x80') + '\x01';
  const auto refused = [](const std::string& object) {
    CAPTURE(object.substr(0, 40));
    CHECK(decoded(body("v1", "ConfigMap", object)) == kMalformed);
  };
  refused(varint(1 << 3 | 2) + overlong);
  refused(overlong);
  refused(number(1, 5));                           // metadata is a message
  refused(bytes(1, number(1, 5)));                 // the name is text
  refused(bytes(1, bytes(1, "\xff\xfe")));         // and is UTF-8
  refused(bytes(1, bytes(11, bytes(1, "\xff"))));  // so are keys
  refused(varint(0) + "x");                        // no field has number 0
  refused(bytes(1, varint(1 << 3 | 2) + varint(100) + "short"));
  refused(varint(77 << 3 | 3));  // a group that does not end
  refused(varint(77 << 3 | 6));  // no such wire type
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested = varint(77 << 3 | 3) + nested + varint(77 << 3 | 4);
  refused(nested);
  CHECK(decoded("k8s") == kMalformed);
  CHECK(decoded(std::string("k8s\0", 4) + bytes(1, bytes(1, "v1"))) ==
        "no protobuf form of kind  in version v1 is known here");
}

TEST_CASE("a map of very many entries takes a moment") {
  std::string meta = bytes(1, "m");
  const std::size_t entries = test::hostile(200'000);
  for (std::size_t i = 0; i < entries; ++i)
    meta += bytes(11, bytes(1, "k" + std::to_string(i)) + bytes(2, "v"));
  const std::string text = decoded(body("v1", "ConfigMap", bytes(1, meta)));
  CHECK(text.size() > 10 * entries);
}
