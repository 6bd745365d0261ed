// The manual page: what is in it, and that no text of a table becomes one of roff's requests.
#include <catch2/catch.hpp>

#include "sample_program.hpp"

namespace koord::app {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("the manual page has every flag, gate, role and command that help shows") {
  const std::string page = man_page(sample_program());
  CHECK_THAT(page, Contains(".TH KOORD 1 \"\" \"koord 1.2\\-3\" \"koord\"\n"));
  CHECK_THAT(page, Contains(".TP\n\\fB\\-\\-addr\\fR=\\fITEXT\\fR\nWhere it serves. 'Quoted' and "
                            "C:\\eback.\nDefault: :9316.\n"));
  CHECK_THAT(page, Contains(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nPrint this and exit.\n"));
  CHECK_THAT(page, Contains("\\fBEvicts\\fR (off)\nEvicts pods.\n"));
  CHECK_THAT(page, Contains("\\fBkoord\\-runtime\\-proxy\\fR\n\\fBkoord \\-\\-role=proxy\\fR\n"));
  CHECK_THAT(page, Contains(".SS koord top\na table\n"));
  CHECK_THAT(page, !Contains("\\-old") && !Contains("Kubernetes\\fR"));
}

TEST_CASE("text that begins as a request does is text") {
  const std::string page = man_page(sample_program());
  CHECK_THAT(page, Contains("\n\\&.begins with a dot\n"));
  CHECK_THAT(page, Contains("\n\\&.\n"));
}

}  // namespace
}  // namespace koord::app
