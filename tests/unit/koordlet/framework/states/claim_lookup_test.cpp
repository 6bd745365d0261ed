// Which claims are asked for, and when.
#include "framework/states/claim_lookup.hpp"

#include <catch2/catch.hpp>

#include "framework/model/inventory.hpp"
#include "plugins/blkio/terms.hpp"

namespace koord::koordlet {
namespace {

TEST_CASE("A claim is asked for until it has a volume, and forgotten with its pods", "[koordlet][claims]") {
  const MonoTime start{std::chrono::minutes(1)};
  ClaimBook book;
  CHECK(book.due(start) == nullptr);
  const ClaimKeys::value_type a{"ns", "a"}, b{"ns", "b"};
  book.want({a, b});
  REQUIRE(book.due(start) != nullptr);
  CHECK(*book.due(start) == a);
  book.note(a, "pv-a", start);
  CHECK(*book.due(start) == b);
  book.note(b, "", start);  // not bound, or nobody answers
  CHECK(book.due(start) == nullptr);
  CHECK(book.due(start + std::chrono::seconds(29)) == nullptr);
  CHECK(*book.due(start + std::chrono::seconds(30)) == b);
  CHECK(book.known().volumes == std::map<ClaimKeys::value_type, std::string>{{a, "pv-a"}, {b, ""}});
  book.note(b, "pv-b", start + std::chrono::seconds(30));
  CHECK(book.due(start + std::chrono::hours(9)) == nullptr);
  book.want({b});
  CHECK(book.known().volumes == std::map<ClaimKeys::value_type, std::string>{{b, "pv-b"}});
  book.note(a, "late", start);  // its pod has gone meanwhile
  CHECK(book.known().volumes.size() == 1);
  book.want({});
  CHECK(book.known().volumes.empty());
}

TEST_CASE("Only claims that limits are for are asked for", "[koordlet][claims]") {
  Inventory inventory;
  const auto pod = [&](const char* ns, std::vector<PodBlock> blocks) {
    auto info = std::make_shared<PodInfo>();
    info->ns = ns;
    auto terms = std::make_shared<PodBlocks>();
    terms->blocks = std::move(blocks);
    info->terms.put(std::shared_ptr<const PodBlocks>(std::move(terms)));
    inventory.pods.push_back(std::move(info));
  };
  inventory.pods.push_back(std::make_shared<PodInfo>());
  pod("x", {{.said = {}, .claim = "c", .volume = ""}, {.said = {}, .claim = "", .volume = "v"}});
  pod("y", {{.said = {}, .claim = "c", .volume = ""}, {.said = {}, .claim = "c", .volume = ""}});
  CHECK(claims_of(inventory) == ClaimKeys{{"x", "c"}, {"y", "c"}});
}

}  // namespace
}  // namespace koord::koordlet
