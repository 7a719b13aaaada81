{{/* Names: of the release, once. */}}
{{- define "tidegate.name" -}}
{{- $name := ternary .Release.Name (printf "%s-tidegate" .Release.Name) (contains "tidegate" .Release.Name) }}
{{- $name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "tidegate.selector" -}}
app.kubernetes.io/name: tidegate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tidegate.labels" -}}
{{ include "tidegate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* What a value lacks is said before anything is made. */}}
{{- define "tidegate.check" -}}
{{- if not .Values.upstream }}{{ fail "upstream is empty: set the URL of the service behind the gate; try --set upstream=http://shop.default.svc:8080" }}{{ end }}
{{- if not .Values.certificate.secretName }}{{ fail "certificate.secretName is empty: name a Secret of type kubernetes.io/tls; try kubectl create secret tls shop-tls --cert=cert.pem --key=key.pem" }}{{ end }}
{{- if and (not .Values.fleet.nats) (or .Values.autoscaling.enabled (gt (int .Values.replicas) 1)) }}{{ fail "more than one gate needs fleet.nats: without it each gate gives the whole service to its own customers and does not know those of the others; try --set fleet.nats={nats://nats.nats.svc:4222}, or replicas=1" }}{{ end }}
{{- if and .Values.fleet.nats (not .Values.fleet.secretName) }}{{ fail "fleet.secretName is empty: name a Secret with the key \"secret\"; values.yaml has the command that makes it" }}{{ end }}
{{- end }}
