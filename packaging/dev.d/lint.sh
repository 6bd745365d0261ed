# Format, clang-tidy, the include graph and the tree's rules.

# What differs from the first parent, committed or not; everything where there is no parent.
changed_files() {
  if git rev-parse -q --verify HEAD^ >/dev/null; then
    git diff --name-only --diff-filter=d HEAD^
    git ls-files --others --exclude-standard
  else
    git ls-files --cached --others --exclude-standard
  fi | sort -u
}

# Of the files on stdin those that the compiler sees in this configuration. Writes build/lint/compile_commands.json:
# the same commands without the precompiled header, so that an include that a file lacks is found.
compiled_files() {
  mkdir -p build/lint
  python3 -c '
import json, os, re, sys
with open("build/compile_commands.json") as file:
    commands = json.load(file)
known = {os.path.realpath(os.path.join(c["directory"], c["file"])) for c in commands}
for command in commands:
    command["command"] = re.sub(" -include-pch [^ ]+", "", command["command"])
with open("build/lint/compile_commands.json", "w") as file:
    json.dump(commands, file)
print(*(path for path in sys.stdin.read().split() if os.path.realpath(path) in known), sep="\n")'
}

verb_lint() {
  local files cxx compiled status=0 tidied='^(src|roles)/.*\.cpp$'
  if [[ ${1:-} == --all ]]; then
    tidied='\.cpp$'  # tests too: Catch makes them slow to analyse
    mapfile -t files < <(git ls-files --cached --others --exclude-standard)
  else
    mapfile -t files < <(changed_files)
  fi
  say "lint: ${#files[@]} files"
  if ((${#files[@]} == 0)); then return; fi

  python3 tests/lint/tree_rules.py . "${files[@]}" || status=1
  python3 tests/lint/include_graph.py . || status=1
  bash -n packaging/dev packaging/dev.d/*.sh .ci/run tests/kube/cluster tests/kube/with-cluster || status=1

  mapfile -t cxx < <(printf '%s\n' "${files[@]}" | grep -E '\.(cpp|hpp)$' || true)
  if ((${#cxx[@]} > 0)); then
    clang-format-16 --dry-run --Werror "${cxx[@]}" || status=1
    configure build
    mapfile -t compiled < <(printf '%s\n' "${cxx[@]}" | grep -E "$tidied" | compiled_files | grep . || true)
    if ((${#compiled[@]} > 0)); then
      say "lint: clang-tidy on ${#compiled[@]} files"
      # Generated headers first; what is not generated is no target of this list.
      generated_headers | xargs -r ninja -C build >&2
      printf '%s\0' "${compiled[@]}" | xargs -0 -n 1 -P "$(nproc)" \
        clang-tidy-16 -p build/lint --quiet 2> >(grep -vE '^[0-9]+ warnings? (generated|treated)' >&2) || status=1
    fi
  fi
  if ((status == 0)); then say "lint: clean"; fi
  return "$status"
}

# Whatever writes them: protoc, bpftool, a script that embeds a program or the page.
generated_headers() { ninja -C build -t targets all | sed -nE 's/^(.*\.(h|hpp)): CUSTOM_COMMAND$/\1/p'; }
