// From a text to a program.
#include "koord/cel/environment.hpp"

#include "cel/check/checker.hpp"
#include "cel/program/compiled.hpp"
#include "cel/syntax/parser.hpp"

namespace koord::cel {

Environment::Environment(std::vector<Variable> variables, Options options)
    : variables_(std::move(variables)), options_(options) {}

Result<Program> Environment::compile(std::string_view text) const {
  auto code = std::make_shared<Compiled>();
  code->text = text;
  code->variables = variables_;
  Mistakes mistakes;
  const auto refused = [&] { return Error(koord::Code::invalid, mistakes.text(text)); };
  parse(code->text, SyntaxOptions{options_.bind, options_.max_length}, code->tree, mistakes);
  if (!mistakes.empty()) return refused();
  code->slots = check(code->tree, code->variables, options_.authorizer, mistakes);
  if (!mistakes.empty()) return refused();
  check_literals(code->tree, mistakes);
  if (!mistakes.empty()) return refused();
  if (const auto planned = plan(*code); !planned)
    return planned.error().context("program instantiation failed");
  return Program(std::move(code));
}

Value Program::run(std::span<const Value> variables, Memory& memory, Meter& meter) const {
  return evaluate(*code_, variables, memory, meter);
}

const Type& Program::type() const { return *code_->tree.root->type; }

std::size_t Program::weight() const {
  std::size_t weight = code_->tree.nodes.size();
  for (const auto& [node, pattern] : code_->patterns) weight += pattern.size();
  return weight;
}

const std::string& Program::text() const { return code_->text; }

bool Program::mentions(std::string_view variable) const {
  for (const Node& node : code_->tree.nodes)
    if (node.op == Node::Op::ident && node.checked && !node.local && node.slot >= 0 &&
        code_->variables[static_cast<std::size_t>(node.slot)].name == variable)
      return true;
  return false;
}

}  // namespace koord::cel
