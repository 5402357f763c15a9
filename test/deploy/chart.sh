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
  '5 Deployment 1 HTTPRoute 1 Ingress 1 NetworkPolicy 1 PodDisruptionBudget 1 PrometheusRule 2 Service 1 ServiceMonitor' \
  'fsGroup: 1000 runAsNonRoot: true runAsUser: 1000650000'

# What the last values say of leaders and server is in the manifests of `full.yaml`.
has() {
  [ "$(grep -cF -- "$2" "$rendered")" = "$1" ] || fail "full.yaml has $(grep -cF -- "$2" "$rendered") times $2"
}
has 1 'terminationGracePeriodSeconds: 1820' # drainSeconds of a leader, and 20 s
has 2 'terminationGracePeriodSeconds: 30' # of leaders with a command
has 1 'terminationGracePeriodSeconds: 945' # the server's, with agents of its own
has 2 '- --agent'
has 1 '- "git:https://github.com/acme/shop"'
has 1 '- "--workspace-setup"'
has 1 'claimName: fix-work'
has 1 'mountPath: /skills'
has 1 'mountPath: /agents'
has 5 'value: "/etc/webhook-trigger/ca/ca.crt"'
has 5 'name: company-ca'

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
refuses 'needs either an agent or a command' --set 'secretName=webhooks,leaders[0].team=a,leaders[0].secretName=a'
refuses 'needs either an agent or a command' \
  --set 'secretName=webhooks,leaders[0].team=a,leaders[0].secretName=a,leaders[0].agent=claude,leaders[0].command={sh}'
refuses 'args of a' --set 'secretName=webhooks,leaders[0].team=a,leaders[0].secretName=a,leaders[0].command={sh},leaders[0].args={x}'
refuses 'agent must be one of' --set 'secretName=webhooks,leaders[0].team=a,leaders[0].secretName=a,leaders[0].agent=claud'
refuses settings --set secretName=webhooks,settings.LEADER_DRAIN=5
refuses settings --set secretName=webhooks,settings.DATABASE_URL=postgres://webhooks:secret@db/webhooks
echo "The chart is valid."
