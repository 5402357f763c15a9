#!/usr/bin/env bash
# Renders the Helm chart and checks the manifests against the schemas of Kubernetes, of the Gateway API and of the Prometheus
# operator. Needs Helm and Go, which GitHub's runners have.
set -euo pipefail
cd "$(dirname "$0")"
chart=../../deploy/helm
crds='https://raw.githubusercontent.com/datreeio/CRDs-catalog/main/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json'
rendered=$(mktemp)
trap 'rm -f "$rendered"' EXIT

fail() {
  echo "$1" >&2
  exit 1
}

# check FILE KINDS USERS: valid manifests of these kinds, whose pods run as these users
check() {
  helm lint --strict "$chart" --values "values/$1"
  helm template hooks "$chart" --namespace webhooks --values "values/$1" >"$rendered"
  go run github.com/yannh/kubeconform/cmd/kubeconform@v0.6.7 -strict -summary -schema-location default -schema-location "$crds" "$rendered"
  kinds=$(sed -n 's/^kind: //p' "$rendered" | sort | uniq -c | xargs)
  [ "$kinds" = "$2" ] || fail "$1 has the kinds $kinds"
  users=$(grep -oE '\b(fsGroup|runAs[A-Za-z]+): .*' "$rendered" | sort -u | xargs)
  [ "$users" = "$3" ] || fail "$1 runs as $users"
  ! grep -F 'e+' "$rendered" || fail "a number of $1 lost its digits"
}

check minimal.yaml '1 Deployment 1 PodDisruptionBudget 1 Service' \
  'fsGroup: 1000 runAsGroup: 1000 runAsNonRoot: true runAsUser: 1000'
check full.yaml \
  '3 Deployment 1 HTTPRoute 1 Ingress 1 NetworkPolicy 1 PodDisruptionBudget 1 PrometheusRule 2 Service 1 ServiceMonitor' \
  'fsGroup: 1000 runAsNonRoot: true runAsUser: 1000650000'

# As `helm template` with these options, which must fail and name what is wrong.
refuses() {
  if found=$(helm template hooks "$chart" "${@:2}" 2>&1); then fail "accepted: ${*:2}"; fi
  grep -qF -- "$1" <<<"$found" || fail "refused for another reason: ${*:2}: $found"
}

refuses 'secretName is required'
refuses replica --set secretName=webhooks,replica=3
refuses hostname --set secretName=webhooks,ingress.hostname=hooks.example.com
refuses digest --set secretName=webhooks,image.digest=latest
refuses runAsUser --set secretName=webhooks,podSecurity.runAsUser=0
refuses parentRefs --set 'secretName=webhooks,httpRoute.parentRefs[0].namespace=gateways'
refuses settings --set secretName=webhooks,settings.DATABASE_URL=postgres://webhooks:secret@db/webhooks
echo "The chart is valid."
