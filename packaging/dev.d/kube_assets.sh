# Builds the real Kubernetes programs, containerd and helm from their published Go modules, once, outside the tree.

# The first is what the tests take; the long ones take the others, too.
KUBE_VERSIONS=(1.35.4 1.30.14 1.34.4 1.36.3)
KUBE_VERSION=${KUBE_VERSIONS[0]}
KUBE_STAGING_VERSION=0.${KUBE_VERSION#*.}
ETCD_VERSION=3.6.6
HELM_VERSION=3.20.2 # its libraries are those of KUBE_VERSION
# The first is what the tests take, all of them what the long ones do.
CONTAINERD_VERSIONS=(2.1.4 2.2.1)
CONTAINERD_PROGRAMS=(containerd containerd-shim-runc-v2 ctr)
GO_WANTED_MINOR=25
GO_TOOLCHAIN=go1.25.5
KUBE_ASSETS=(etcd kube-apiserver kubectl kube-scheduler kube-controller-manager kubelet)
OTHER_KUBE_ASSETS=("${KUBE_ASSETS[@]:0:5}") # of other versions: all but the kubelet, which the kube tier has none of

# Where the programs are: the caller's KUBEBUILDER_ASSETS if it has them all, our cache otherwise.
kube_assets_dir() {
  if [[ -n ${KUBEBUILDER_ASSETS:-} ]] && has_kube_assets "$KUBEBUILDER_ASSETS"; then
    echo "$KUBEBUILDER_ASSETS"
  else
    echo "$KOORD_CACHE/kube/$KUBE_VERSION"
  fi
}

# has_kube_assets FOLDER [PROGRAM...]: has it all of these, or all that the tests take?
has_kube_assets() {
  local folder=$1 program
  shift
  for program in "${@:-${KUBE_ASSETS[@]}}"; do [[ -x $folder/$program ]] || return 1; done
}

go_minor() { "$1" env GOVERSION 2>/dev/null | sed -nE 's/^go1\.([0-9]+).*/\1/p'; }

# Prints the path of a Go that is new enough. Debian's own is not, but it can fetch one: a toolchain is a
# module. The module cache drops the executable bits, so the copy gets them back.
new_enough_go() {
  local own minor fetched dir
  own=$(command -v go || true)
  [[ -n $own ]] || { say "no go found: run packaging/dev deps"; return 1; }
  minor=$(GOTOOLCHAIN=local go_minor "$own")
  if (( ${minor:-0} >= GO_WANTED_MINOR )); then echo "$own"; return; fi
  fetched=$KOORD_CACHE/$GO_TOOLCHAIN
  if [[ ! -x $fetched/bin/go ]]; then
    say "go 1.${minor:-?} is older than 1.$GO_WANTED_MINOR: fetching $GO_TOOLCHAIN"
    mkdir -p "$KOORD_CACHE/module"
    printf 'module toolchain\n' >"$KOORD_CACHE/module/go.mod"
    dir=$(cd "$KOORD_CACHE/module" &&
      GOFLAGS='' "$own" mod download -json "golang.org/toolchain@v0.0.1-$GO_TOOLCHAIN.linux-amd64" |
      sed -nE 's/^\s*"Dir": "(.*)",?$/\1/p')
    [[ -n $dir ]] || return 1
    rm -rf "$fetched.new"
    cp -r "$dir" "$fetched.new"
    chmod -R u+w "$fetched.new"
    chmod +x "$fetched.new"/bin/* "$fetched.new"/pkg/tool/*/* 2>/dev/null || true
    rm -rf "$fetched"
    mv "$fetched.new" "$fetched"
  fi
  echo "$fetched/bin/go"
}

write_etcd_module() {
  cat >go.mod <<MOD
module koord.test/etcd

go 1.$GO_WANTED_MINOR

require go.etcd.io/etcd/server/v3 v$ETCD_VERSION
MOD
}

# write_kubernetes_module VERSION: Kubernetes' own module names those that are published beside it, by paths of its tree.
write_kubernetes_module() {
  local version=$1 own name
  printf 'module koord.test/kubernetes\n' >go.mod
  own=$("$go" mod download -json "k8s.io/kubernetes@v$version" | sed -nE 's/^\s*"GoMod": "(.*)",?$/\1/p')
  [[ -n $own ]] || { say "kube-assets: k8s.io/kubernetes v$version cannot be fetched"; return 1; }
  {
    printf 'module koord.test/kubernetes\n\n%s\n\n' "$(grep '^go ' "$own")"
    printf 'require k8s.io/kubernetes v%s\n\nreplace (\n' "$version"
    sed -nE 's|.*\sk8s.io/(\S+) => \./staging/.*|\1|p' "$own" | while read -r name; do
      printf '\tk8s.io/%s => k8s.io/%s v0.%s\n' "$name" "$name" "${version#*.}"
    done
    printf ')\n'
  } >go.mod
}

# build_go_program NAME PACKAGE VERSION: to a name of its own first, then moved, so that a half-built one is never seen.
build_go_program() {
  local name=$1 package=$2 version=$3 started=$SECONDS
  if [[ -x $assets/$name ]]; then say "kube-assets: $name is built already"; return; fi
  say "kube-assets: building $name (a few minutes the first time)"
  # Of these only the kubelet wants C; it is linked with the machine's libc. Up to 1.30 clouds' own libraries can be left out by a tag.
  CGO_ENABLED=$([[ $name == kubelet ]] && echo 1 || echo 0) "$go" build -trimpath -tags providerless -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v$version" \
    -o "$assets/.$name.new" "$package" >"$assets/.$name.log" 2>&1 ||
    { tail -20 "$assets/.$name.log" >&2; return 1; }
  mv "$assets/.$name.new" "$assets/$name"
  rm -f "$assets/.$name.log"
  say "kube-assets: $name built in $((SECONDS - started)) s"
}

# containerd_dir VERSION
containerd_dir() { echo "$KOORD_CACHE/containerd/$1"; }

# The CRI's own definition, which the tests' client speaks by: containerd's answers are read with nobody else's eyes.
cri_definition() { echo "$KOORD_CACHE/cri-api/$KUBE_STAGING_VERSION/api.proto"; }

has_containerd() {
  local version program
  [[ -f $(cri_definition) ]] || return 1
  for version in "$@"; do
    for program in "${CONTAINERD_PROGRAMS[@]}"; do [[ -x $(containerd_dir "$version")/$program ]] || return 1; done
  done
}

# build_containerd VERSION, in a folder that is the module's: one build of all its programs, without the snapshotters and
# the tracing that no test asks for.
build_containerd() {
  local version=$1 folder started=$SECONDS program
  folder=$(containerd_dir "$version")
  if has_containerd "$version"; then say "kube-assets: containerd $version is built already"; return; fi
  say "kube-assets: building containerd $version (a minute the first time)"
  printf 'module koord.test/containerd\n\ngo 1.%s\n\nrequire github.com/containerd/containerd/v2 v%s\n' \
    "$GO_WANTED_MINOR" "$version" >go.mod
  rm -f go.sum
  mkdir -p "$folder/new"
  CGO_ENABLED=0 "$go" build -trimpath -tags no_btrfs,no_devmapper,no_zfs,no_tracing \
    -ldflags "-s -w -X github.com/containerd/containerd/v2/version.Version=v$version" -o "$folder/new/" \
    "${CONTAINERD_PROGRAMS[@]/#/github.com/containerd/containerd/v2/cmd/}" >"$folder/log" 2>&1 ||
    { tail -20 "$folder/log" >&2; return 1; }
  for program in "${CONTAINERD_PROGRAMS[@]}"; do mv "$folder/new/$program" "$folder/$program"; done
  rm -r "$folder/new" "$folder/log"
  say "kube-assets: containerd $version built in $((SECONDS - started)) s"
}

fetch_cri_definition() {
  local file dir
  file=$(cri_definition)
  if [[ -f $file ]]; then return; fi
  printf 'module koord.test/cri-api\n\ngo 1.%s\n' "$GO_WANTED_MINOR" >go.mod
  dir=$("$go" mod download -json "k8s.io/cri-api@v$KUBE_STAGING_VERSION" | sed -nE 's/^\s*"Dir": "(.*)",?$/\1/p')
  [[ -n $dir ]] || return 1
  mkdir -p "${file%/*}"
  cp "$dir/pkg/apis/runtime/v1/api.proto" "$file.new"
  mv "$file.new" "$file"
}

helm_path() { echo "$KOORD_CACHE/helm/$HELM_VERSION/helm"; }

# In a folder that is its module's. It has to be told which Kubernetes it renders for where it asks none.
build_helm() {
  local file package=helm.sh/helm/v3 flags="-s -w" started=$SECONDS of
  file=$(helm_path)
  if [[ -x $file ]]; then say "kube-assets: helm is built already"; return; fi
  say "kube-assets: building helm $HELM_VERSION (a minute the first time)"
  printf 'module koord.test/helm\n\ngo 1.%s\n\nrequire %s v%s\n' "$GO_WANTED_MINOR" "$package" "$HELM_VERSION" >go.mod
  rm -f go.sum
  flags+=" -X $package/internal/version.version=v$HELM_VERSION"
  for of in pkg/chartutil pkg/lint/rules; do
    flags+=" -X $package/$of.k8sVersionMajor=1 -X $package/$of.k8sVersionMinor=$(cut -d. -f2 <<<"$KUBE_VERSION")"
  done
  mkdir -p "${file%/*}"
  CGO_ENABLED=0 "$go" build -trimpath -ldflags "$flags" -o "$file.new" "$package/cmd/helm" >"$file.log" 2>&1 ||
    { tail -20 "$file.log" >&2; return 1; }
  mv "$file.new" "$file"
  rm -f "$file.log"
  say "kube-assets: helm built in $((SECONDS - started)) s"
}

# build_kubernetes VERSION FOLDER PROGRAM...: etcd, which is the first of them, is the same for all versions.
build_kubernetes() {
  local version=$1 assets=$2 work=$KOORD_CACHE/kube/module-$1 name
  shift 2
  if has_kube_assets "$assets" "$@"; then return; fi
  mkdir -p "$assets" "$work/etcd" "$work/kubernetes"
  cd "$work/etcd"
  write_etcd_module
  build_go_program etcd go.etcd.io/etcd/server/v3 "$version" || return 1
  cd "$work/kubernetes"
  write_kubernetes_module "$version" || return 1
  for name in "${@:2}"; do build_go_program "$name" "k8s.io/kubernetes/cmd/$name" "$version" || return 1; done
}

# kube-versions [VERSION...]: Kubernetes' programs of the other versions, or of these, for the kube tier.
verb_kube_versions() {
  local version go GO_WANTED_MINOR=26 GO_TOOLCHAIN=go1.26.0 # what the newest wants
  local versions=("${@:-${KUBE_VERSIONS[@]:1}}")
  mkdir -p "$KOORD_CACHE/kube"
  go=$(new_enough_go)
  (
    flock 9
    export GOFLAGS='-mod=mod -buildvcs=false' GOTOOLCHAIN=local GOWORK=off
    for version in "${versions[@]}"; do
      build_kubernetes "$version" "$KOORD_CACHE/kube/$version" "${OTHER_KUBE_ASSETS[@]}" || exit 1
    done
  ) 9>"$KOORD_CACHE/kube/lock" || { say "kube-versions: a build failed"; return 1; }
  say "kube-versions: all in $KOORD_CACHE/kube"
}

# kube-assets [--long]: what CI needs, or what the long tests need, too.
verb_kube_assets() {
  local assets versions=("${CONTAINERD_VERSIONS[0]}") version go
  [[ ${1:-} != --long ]] || versions=("${CONTAINERD_VERSIONS[@]}")
  assets=$(kube_assets_dir)
  if has_kube_assets "$assets" && has_containerd "${versions[@]}" && [[ -x $(helm_path) ]]; then
    say "kube-assets: all there, $assets, $KOORD_CACHE/containerd and $KOORD_CACHE/helm"
    return
  fi
  mkdir -p "$KOORD_CACHE/kube"
  go=$(new_enough_go)
  (
    flock 9
    export GOFLAGS='-mod=mod -buildvcs=false' GOTOOLCHAIN=local GOWORK=off
    build_kubernetes "$KUBE_VERSION" "$assets" "${KUBE_ASSETS[@]}" || exit 1
    mkdir -p "$KOORD_CACHE/cri-api/module" "$KOORD_CACHE/containerd/module" "$KOORD_CACHE/helm/module"
    cd "$KOORD_CACHE/helm/module"
    build_helm || exit 1
    cd "$KOORD_CACHE/cri-api/module"
    fetch_cri_definition || exit 1
    cd "$KOORD_CACHE/containerd/module"
    for version in "${versions[@]}"; do build_containerd "$version" || exit 1; done
  ) 9>"$KOORD_CACHE/kube/lock" || { say "kube-assets: a build failed"; return 1; }
  say "kube-assets: all in $assets, $KOORD_CACHE/containerd and $KOORD_CACHE/helm"
}
