{{- define "webhook-trigger.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "webhook-trigger.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "webhook-trigger.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "webhook-trigger.labels" -}}
{{ include "webhook-trigger.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* Security of every container: no privileges, and nothing of its image may change. */}}
{{- define "webhook-trigger.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "webhook-trigger.podSecurity" -}}
runAsNonRoot: true
{{- /* `null` leaves a field out. */}}
{{- range $field, $id := pick .Values.podSecurity "runAsUser" "runAsGroup" "fsGroup" }}
{{- if not (kindIs "invalid" $id) }}
{{ $field }}: {{ include "webhook-trigger.number" $id }}
{{- end }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- /* Values of files are floating: a UID of OpenShift, 1000650000, would become 1.00065e+09. */}}
{{- define "webhook-trigger.number" -}}
{{- int64 . }}
{{- end }}

{{- /* What server and leaders mount beside their own folders. The list holds the values of the chart and those of the part. */}}
{{- define "webhook-trigger.mounts" -}}
{{- $ca := (index . 0).caBundle }}
{{- if $ca.configMap }}
- name: ca-bundle
  mountPath: /etc/webhook-trigger/ca
  readOnly: true
{{- end }}
{{- with (index . 1).extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "webhook-trigger.volumes" -}}
{{- $ca := (index . 0).caBundle }}
{{- if $ca.configMap }}
- name: ca-bundle
  configMap:
    name: {{ $ca.configMap }}
{{- end }}
{{- with (index . 1).extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "webhook-trigger.env" -}}
{{- $ca := (index . 0).caBundle }}
{{- if $ca.configMap }}
- name: NODE_EXTRA_CA_CERTS
  value: {{ printf "/etc/webhook-trigger/ca/%s" $ca.key | quote }}
{{- end }}
{{- with (index . 1).extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* `quote` alone would turn 10000000 into "1e+07". */}}
{{- define "webhook-trigger.setting" -}}
{{- kindIs "string" . | ternary (toString .) (toJson .) | quote }}
{{- end }}
