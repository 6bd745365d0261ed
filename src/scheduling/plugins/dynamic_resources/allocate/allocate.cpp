// allocate: see allocate.hpp.
#include "scheduling/plugins/dynamic_resources/allocate/allocate.hpp"

#include "scheduling/plugins/dynamic_resources/allocate/asks.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/results.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/search.hpp"

namespace koord::scheduling::dynamic_resources {

Answer allocate(const Question& question) {
  const auto ended = [](Answer::Kind kind, std::string message, std::uint64_t steps) {
    return Answer{.kind = kind, .message = std::move(message), .results = {}, .steps = steps};
  };
  Asks asks(question);
  if (Failure failure = asks.bind()) return ended(failure->first, std::move(failure->second), 0);
  Search search(question, asks);
  if (!search.run()) {
    if (search.failure()) return ended(search.failure()->first, search.failure()->second, search.steps());
    if (question.pools.has_invalid())
      return ended(Answer::Kind::failed_here, "invalid resource pools were encountered", search.steps());
    return ended(Answer::Kind::none, {}, search.steps());
  }
  if (question.only_whether) return ended(Answer::Kind::found, {}, search.steps());
  auto results = allocation_results(question, asks, search);
  if (!results) return ended(Answer::Kind::failed, results.error().message(), search.steps());
  return {
      .kind = Answer::Kind::found, .message = {}, .results = std::move(*results), .steps = search.steps()};
}

}  // namespace koord::scheduling::dynamic_resources
