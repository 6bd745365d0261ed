# The test tiers. Each part runs, is timed and counted; a table and one line of sums end the run. Beside the minutes
# of the clock stand the CPU minutes of what compiled (clang, lld, clang-tidy, go): on a busy machine they alone can
# be compared. What ccache has already is not in them: with CCACHE_DISABLE=1 they are the whole price.
# Parts that run beside one another overlap: a part's begin and end say which one the others waited for.

# What ran: lines "part begun ended compilers passed failed skipped"; seconds since this shell began, but for the
# compilers', which are CPU time.
TEST_LEDGER=

# The thread sanitizer's shadow does not fit every address layout: it is turned off for that run.
without_aslr() { if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi; }

# record PART BEGUN COMPILERS PASSED FAILED SKIPPED: a part that ends now. One write a line: parts share the file.
record() { printf '%s\n' "$1 $2 $SECONDS ${*:3}" >>"$TEST_LEDGER"; }

# Puts the CPU seconds of all that this shell has waited for into CPU_SECONDS (`times` speaks of its own shell only).
CPU_SECONDS=0
read_cpu_seconds() {
  local file=$TEST_LEDGER.$BASHPID # `times` in a pipe would be another shell's
  times >"$file"
  CPU_SECONDS=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }' "$file")
  rm -f "$file"
}

# Sums a meson test log into "passed failed skipped"; what failed is added to TEST_LEDGER.failed, with the last lines that
# it printed. No log: the build failed, one failure.
count_results() {
  python3 - "$1" "$TEST_LEDGER.failed" <<'PY'
import json, sys
passed = failed = skipped = 0
try:
    with open(sys.argv[1]) as log:
        for line in log:
            test = json.loads(line)
            result = test["result"]
            if result in ("OK", "EXPECTEDFAIL"):
                passed += 1
            elif result == "SKIP":
                skipped += 1
            else:
                failed += 1
                said = (test.get("stdout", "") + test.get("stderr", "")).splitlines()[-40:]
                with open(sys.argv[2], "a") as file:
                    print(f"\n{test['name']}: {result} after {test['duration']:.0f} s", *said, sep="\n  ", file=file)
except OSError:
    failed = 1
print(passed, failed, skipped)
PY
}

# run_meson_tests PART FOLDER ARGUMENT...: `meson test` builds just what the chosen tests need; a first round, in which
# every test is /bin/true, is the build alone. Parts that run beside one another build one after the other.
run_meson_tests() {
  build_meson_tests "$@"
  run_built_tests "$@"
}

# The two rounds, each with the same words. BUILD_*: what the first one says to the second.
build_meson_tests() {
  local part=$1 folder=$2 logs=$2/meson-logs
  shift 2
  BUILD_BEGUN=$SECONDS BUILD_STATUS=0 BUILD_LOG=$logs/$part-build.log
  read_cpu_seconds
  BUILD_COMPILERS=$CPU_SECONDS
  flock "$logs" meson test -C "$folder" --logbase "$part-build" --wrapper true "$@" >"$BUILD_LOG" 2>&1 || BUILD_STATUS=$?
  read_cpu_seconds
  BUILD_COMPILERS=$((CPU_SECONDS - BUILD_COMPILERS))
}
run_built_tests() {
  local part=$1 folder=$2 logs=$2/meson-logs status=$BUILD_STATUS counts
  shift 2
  rm -f "$logs/$part.json"
  if ((status == 0)); then
    "${TEST_RUNNER[@]}" meson test -C "$folder" --logbase "$part" --no-rebuild --print-errorlogs "$@" >&2 || status=$?
  else
    grep -vE '^\[[0-9]+/[0-9]+\] ' "$BUILD_LOG" | tail -n 100 >&2
  fi
  counts=$(count_results "$logs/$part.json")
  # A tier without tests, or a build that broke under tests that passed, is no success.
  if [[ $status -ne 0 && $counts == *" 0 "* ]] || [[ $counts == "0 0 0" ]]; then counts="0 1 0"; fi
  # shellcheck disable=SC2086
  record "$part" "$BUILD_BEGUN" "$BUILD_COMPILERS" $counts
}
TEST_RUNNER=(env)

# run_check PART COMMAND...: one test that is no meson test.
run_check() {
  local part=$1 started=$SECONDS counts="0 1 0" before
  shift
  say "== $part"
  read_cpu_seconds
  before=$CPU_SECONDS
  # A process of its own, so that `set -e` holds inside.
  if packaging/dev "$@" >&2; then counts="1 0 0"; fi
  read_cpu_seconds
  # shellcheck disable=SC2086
  record "$part" "$started" $((CPU_SECONDS - before)) $counts
}

tier_lint() { run_check lint lint; }

tier_unit() {
  say "== unit"
  build_release build.ninja && run_meson_tests unit build --suite unit
}

tier_roles() {
  say "== roles"
  build_release build.ninja && run_meson_tests roles build --suite roles
}

export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}

tier_sanitized() {
  say "== unit and roles under ASan and UBSan"
  configure_asan && run_meson_tests asan build-asan --suite unit --suite roles --timeout-multiplier 4
}

tier_threads() {
  say "== what uses threads under TSan"
  configure_tsan
  TEST_RUNNER=(without_aslr)
  run_meson_tests tsan build-tsan --suite threads --timeout-multiplier 8
  TEST_RUNNER=(env)
}

# Both. Tests of roles mostly wait, and one at a time: under ASan they run beside those of units and what TSan compiles, which give
# way to them.
tier_sanitizers() {
  local log roles status=0
  say "== unit and roles under ASan and UBSan"
  configure_asan || return
  build_meson_tests asan build-asan --suite unit --suite roles --timeout-multiplier 4
  log=$(mktemp)
  (BUILD_BEGUN=$SECONDS BUILD_COMPILERS=0 && run_built_tests asan-roles build-asan --suite roles --timeout-multiplier 4) >"$log" 2>&1 &
  roles=$!
  (renice -n 15 "$BASHPID" >/dev/null && run_built_tests asan build-asan --suite unit --timeout-multiplier 4 && tier_threads) || status=$?
  wait "$roles" || status=$?
  cat "$log" >&2
  rm -f "$log"
  return "$status"
}

tier_release() {
  run_check release build
  run_check static static-check
  # What clang does wrong with coroutines on two threads shows with optimisation only; the scheduler's oracles take ten
  # times the steps.
  run_meson_tests optimised build async scheduler_reference scheduler_reference_reserved scheduler_reference_numa scheduler_reference_shared scheduler_reference_claims
}

# Packages, installed in a clean Debian. Where that cannot be had, what needs it says so and is skipped.
tier_packages() {
  if [[ ! -f $(debian_root_path) ]] && ! command -v apt-get >/dev/null; then
    say "packages: skipped: neither a Debian (KOORD_DEBIAN_ROOT) nor apt-get is here"
    record packages "$SECONDS" 0 0 0 1
    return
  fi
  run_check debian-root debian-root
  run_meson_tests packages build --suite packages --num-processes 1
}

tier_attack() { run_check attack attack --short; }

# The Kubernetes programs: for the kube tier, and kubectl for the role tests. Where they cannot be had, what needs
# them says so and is skipped.
tier_assets() {
  if ! command -v go >/dev/null &&
    ! { has_kube_assets "$(kube_assets_dir)" && has_containerd "${CONTAINERD_VERSIONS[0]}" && [[ -x $(helm_path) ]]; }; then
    say "kube-assets: skipped: no go is here, and Kubernetes programs (KUBEBUILDER_ASSETS), containerd and helm are not all, either"
    record kube-assets "$SECONDS" 0 0 0 1
    return
  fi
  run_check kube-assets kube-assets
}

# run_kube_tests PART [AFTER]: they wait more than they compute. Two halves, each with a cluster of its own, one test at a time in
# each; the tier AFTER follows the first half, beside the rest of the other.
run_kube_tests() {
  local part=$1 after=${2:-} aside log
  TEST_RUNNER=(tests/kube/with-cluster)
  log=$(mktemp)
  (run_meson_tests "$part-aside" build --suite aside --num-processes 1) >"$log" 2>&1 &
  aside=$!
  run_meson_tests "$part" build --suite kube --no-suite aside --num-processes 1
  TEST_RUNNER=(env)
  ${after:+"tier_$after"}
  wait "$aside" || record "$part-aside" "$SECONDS" 0 0 1 0
  cat "$log" >&2
  rm -f "$log"
}

tier_kube() {
  say "== kube: against a real etcd and kube-apiserver"
  verb_build
  run_kube_tests kube "$@"
}

# The same against each other version of Kubernetes, beside that version's own programs.
tier_versions() {
  local version
  say "== versions: the kube tier on other versions of Kubernetes"
  verb_build
  run_check kube-versions kube-versions
  for version in "${KUBE_VERSIONS[@]:1}"; do
    say "== kube: $version"
    # What failed to build is one failure that is told by its name, not a row of skipped tests.
    if ! has_kube_assets "$KOORD_CACHE/kube/$version" "${OTHER_KUBE_ASSETS[@]}"; then
      say "kube: Kubernetes $version was not built"
      record "kube-$version" "$SECONDS" 0 0 1 0
      continue
    fi
    KUBEBUILDER_ASSETS=$KOORD_CACHE/kube/$version run_kube_tests "kube-$version"
  done
}

# The kernel of the node tier's virtual machine. Where it cannot be had, what needs it says so and is skipped.
tier_vm_kernel() {
  if [[ ! -f $(vm_kernel_path) ]] && ! command -v apt-get >/dev/null; then
    say "vm-kernel: skipped: neither a kernel (KOORD_VM_KERNEL) nor apt-get is here"
    record vm-kernel "$SECONDS" 0 0 0 1
    return
  fi
  run_check vm-kernel vm-kernel
}

# Those tests of the node tier that compare values, not times: alone, or beside tests of clusters.
tier_patient() {
  say "== patient: what on real nodes may take its time"
  verb_build
  run_meson_tests patient build --suite patient --num-processes 1
}

# Those that need the machine to themselves.
tier_quiet() {
  say "== node: this kernel, a real node, and a virtual machine"
  verb_build
  run_meson_tests node build --suite node --no-suite patient --num-processes 1
  if [[ -n ${KOORDINATOR_BIN:-} ]]; then
    run_meson_tests compare build --suite compare --num-processes 1
  else
    say "node: nothing is compared with the originals: KOORDINATOR_BIN is not set"
  fi
}

tier_node() { tier_patient; tier_quiet; }

# What knows the machine best, base to host, built for another one and run by an emulator of programs.
ARM64_TESTS=(base async json net api cel kube kube_client host host_nvml nvml_program)
tier_arm64() {
  say "== arm64: unit tests of base to host under qemu's user mode"
  run_check arm64-sysroot arm64-sysroot
  if [[ ! -d $(arm64_folder)/sysroot ]]; then return; fi
  configure_arm64
  run_meson_tests arm64 build-arm64 --timeout-multiplier 10 --suite unit "${ARM64_TESTS[@]}"
  run_meson_tests arm64-roles build-arm64 --suite arm64
  run_check arm64-packages package --arch arm64 --out build-arm64/packages
}

# What need not run at each change: every hostile input under ASan, container runtimes (Debian's docker among them) with hooks
# and kills, packages in a clean Debian and a virtual machine, dashboards by promtool, the swap with the originals and
# Koordinator's chart where they are named, the kube tier on other versions of Kubernetes, two builds that must be the same, arm64, the
# attacks in full, the scheduler beside its oracle for 100,000 random steps, every fuzzer for a minute.
# packaging/MEASURED.md says when it ran last.
tier_long() {
  say "== long: what need not run at each change"
  verb_build
  configure_asan && KOORD_LONG_TESTS=1 run_meson_tests asan-whole build-asan --suite unit --timeout-multiplier 20
  run_check kube-assets kube-assets --long
  run_check docker-package docker
  run_check promtool promtool
  # What looks at packages besides the tests.
  install_missing lintian rpm rpmlint
  run_check debian-root debian-root
  run_meson_tests long build --suite long --num-processes 1
  tier_versions
  run_check reproducible reproducible
  tier_arm64
  run_check random bench scheduler_reference
  run_check attack-whole attack
  run_check fuzz fuzz 60
  say "for packaging/MEASURED.md: $(date -u +%F), $(git rev-parse --short HEAD 2>/dev/null || echo "no commit")"
}

# Tests of clusters and nodes mostly wait, the sanitizers' only compute. Beside one another they take the time of the
# longer; the sanitizers give way, so that it is not the cluster that comes late.
tier_waiting_beside_sanitizers() {
  local log waiting
  verb_build >&2 # what both use is built before either begins
  log=$(mktemp)
  tier_kube patient >"$log" 2>&1 &
  waiting=$!
  # Tests that fail are in the ledger; a part that could not even begin is not, and is one failure.
  (renice -n 10 "$BASHPID" >/dev/null && tier_sanitizers) || record sanitizers "$SECONDS" 0 0 1 0
  wait "$waiting" || record waiting "$SECONDS" 0 0 1 0
  cat "$log" >&2
  rm -f "$log"
}

minutes() { printf '%d.%d' "$(($1 / 60))" "$(($1 % 60 * 10 / 60))"; }

# The parts that the end waited for, the last first: each began when the one after it in this line had ended.
print_critical_path() {
  sort -n -k3,3 "$TEST_LEDGER" | awk '
    { part[NR] = $1; begun[NR] = $2; ended[NR] = $3 }
    END {
      for (at = NR; at > 0; at = before) {
        path = path (path == "" ? "" : " <- ") sprintf("%s %.1f", part[at], (ended[at] - begun[at]) / 60)
        sum += ended[at] - begun[at]
        for (before = at - 1; before > 0 && ended[before] > begun[at]; --before);
      }
      printf "critical path, %.1f minutes: %s\n", sum / 60, path
    }'
}

print_ledger() {
  local part begun ended compilers passed failed skipped
  local all_passed=0 all_failed=0 all_skipped=0 all_compilers=0 absent=
  printf '\n%-14s %8s %8s %8s %12s %7s %7s %8s\n' part begin end minutes compilers passed failed skipped
  while read -r part begun ended compilers passed failed skipped; do
    printf '%-14s %8s %8s %8s %12s %7d %7d %8d\n' "$part" "$(minutes "$begun")" "$(minutes "$ended")" \
      "$(minutes $((ended - begun)))" "$(minutes "$compilers")" "$passed" "$failed" "$skipped"
    ((skipped == 0 || passed > 0)) || absent+=" $part"
    all_passed=$((all_passed + passed)) all_failed=$((all_failed + failed)) all_skipped=$((all_skipped + skipped))
    all_compilers=$((all_compilers + compilers))
  done < <(sort -n -k2,2 -s "$TEST_LEDGER")
  printf '%-14s %8s %8s %8s %12s\n' total "" "" "$(minutes "$SECONDS")" "$(minutes "$all_compilers")"
  print_critical_path
  # Once more at the end, where whoever has a part of the output looks first.
  if [[ -f $TEST_LEDGER.failed ]]; then cat "$TEST_LEDGER.failed"; fi
  printf '%d passed, %d failed, %d skipped\n' "$all_passed" "$all_failed" "$all_skipped"
  ((all_failed == 0)) || return 1
  [[ ${CI:-} != true || -z $absent ]] || { say "CI=true: a skipped tier is a failure:$absent"; return 1; }
}

verb_test() {
  local tiers=("$@") tier
  if [[ ${tiers[*]} == --long ]]; then tiers=(long); fi
  if [[ ${tiers[*]:-all} == all ]]; then tiers=(lint assets vm_kernel release packages waiting_beside_sanitizers attack quiet); fi
  for tier in "${tiers[@]}"; do
    declare -F "tier_$tier" >/dev/null || { say "test: no tier '$tier'"; return 2; }
  done
  verb_deps
  TEST_LEDGER=$(mktemp)
  case ${tiers[*]} in
    kube | roles | versions) tiers=(assets "${tiers[@]}") ;;
    node) tiers=(assets vm_kernel node) ;;
  esac
  KUBEBUILDER_ASSETS=$(kube_assets_dir)
  KOORD_HELM=$(helm_path)
  export KUBEBUILDER_ASSETS KOORD_HELM
  for tier in "${tiers[@]}"; do "tier_$tier"; done
  print_ledger
}

verb_asan() { configure_asan && meson test -C build-asan --print-errorlogs --timeout-multiplier 4 "${@:---suite=unit}"; }
verb_tsan() {
  configure_tsan
  without_aslr meson test -C build-tsan --print-errorlogs --timeout-multiplier 8 "${@:---suite=threads}"
}
