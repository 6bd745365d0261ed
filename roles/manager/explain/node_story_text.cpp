// A node's story as text.
#include <fmt/format.h>

#include "explain/node_story.hpp"

namespace koord::manager {

namespace {

std::string gi(std::int64_t bytes) {
  return fmt::format("{:.2f}Gi", static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}

std::string both(const figures::Amount& amount) {
  return fmt::format("{:.2f} cores and {}", amount.cpu_cores, gi(amount.memory_bytes));
}

}  // namespace

std::string render(const NodeStory& story) {
  std::string out;
  if (!story.lends)
    out += fmt::format("Node {} lends nothing to batch pods: {}{}\n", story.node, story.why_not,
                       story.why_not == "there is no NodeMetric" ? "; is koordlet running there?" : ".");
  else
    out += fmt::format("Node {} lends {} to batch pods.\n", story.node, both(story.lent));
  if (!story.lends && (story.written.cpu_cores > 0 || story.written.memory_bytes > 0))
    out += fmt::format("It still says {}.\n", both(story.written));
  out += fmt::format("Batch pods on it ask for {}{}\n", both(story.asked),
                     story.over_asked ? ": more than it lends (!)." : ".");
  if (story.figures.empty()) return out;
  out += fmt::format("\n{:<52} {:>9} {:>12}\n",
                     fmt::format("policy of CPU: {}, of memory: {}", story.cpu_policy, story.memory_policy),
                     "CPU", "MEMORY");
  for (const FigureView& figure : story.figures)
    out += fmt::format("{:<52} {:>9} {:>12}\n",
                       fmt::format("{}{}", figure.of_above ? "      " : "", figure.words),
                       figure.cpu_cores ? fmt::format("{:.2f}", *figure.cpu_cores) : "-",
                       figure.memory_bytes ? gi(*figure.memory_bytes) : "-");
  if (story.reported)
    out += fmt::format("As the agent reported {} ago.\n", figures::age(story.time.at - story.reported->at));
  if (!story.takers.empty()) out += "\nWho takes most CPU from it:\n";
  for (const TakerView& taker : story.takers)
    out += fmt::format("  {} {} {}\n", taker.pod, taker.why, both(taker.amount));
  if (!story.changes.empty()) out += "\nWhy it changes:\n";
  for (const std::string& sentence : story.changes) out += fmt::format("- {}\n", sentence);
  for (const std::string& note : story.notes) out += fmt::format("Note: {}\n", note);
  return out;
}

}  // namespace koord::manager
