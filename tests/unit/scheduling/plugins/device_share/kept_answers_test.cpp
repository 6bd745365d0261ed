// Answers that classes share, and how long they stay when no class has them.
#include "scheduling/plugins/device_share/kept_answers.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace koord::scheduling::test {
namespace {

using device_share::KeptAnswers;
using device_share::KnownAnswers;

TEST_CASE("kept answers: what is asked for again and again stays though nobody has it in between") {
  KnownAnswers known;
  const std::weak_ptr<KeptAnswers> whole = known.of("whole");
  for (int i = 0; i < 100; ++i) {
    known.of(std::to_string(i));
    CHECK(known.of("whole") == whole.lock());
  }
}

TEST_CASE("kept answers: others go with the last who has them") {
  KnownAnswers known;
  const std::weak_ptr<KeptAnswers> gone = known.of("gone");
  const std::shared_ptr<KeptAnswers> held = known.of("held");
  for (int i = 0; i < 100; ++i) known.of(std::to_string(i));
  CHECK(gone.expired());
  CHECK(known.of("held") == held);
}

}  // namespace
}  // namespace koord::scheduling::test
