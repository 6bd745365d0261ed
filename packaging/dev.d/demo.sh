# The demonstration: a simulated cluster of mixed nodes and a mixed workload, scheduled by koord.

DEMO_LOAD=(--load packaging/demo/nodes.yaml --load packaging/demo/workload.yaml)

verb_demo() {
  local folder
  verb_build
  folder=$(mktemp -d "${TMPDIR:-/tmp}/koord-demo.XXXXXX")
  if [[ ${1:-} == --once ]]; then
    local status=0
    build/koord sandbox --nodes=0 --kubeconfig="$folder/kubeconfig" "${DEMO_LOAD[@]}" --until-idle \
      --summary=json >"$folder/summary.json" 2>"$folder/log" || status=$?
    ((status == 0)) || tail -20 "$folder/log" >&2
    python3 packaging/demo/summary.py "$folder/summary.json" || status=1
    rm -rf "$folder"
    return "$status"
  fi
  say "demo: to look around, in another terminal:"
  say "  export KUBECONFIG=$folder/kubeconfig"
  say "  kubectl get nodes; kubectl -n demo get pods -o wide; kubectl -n demo scale deployment web --replicas=60"
  say "demo: Ctrl-C ends it"
  trap 'rm -rf "$folder"' EXIT
  build/koord sandbox --nodes=0 --kubeconfig="$folder/kubeconfig" "${DEMO_LOAD[@]}" --summary=text
}
