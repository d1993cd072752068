{{/* The name that all names begin with: the release's, if it says what it is. */}}
{{- define "jobbers.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- else if contains (default .Chart.Name .Values.nameOverride) .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (default .Chart.Name .Values.nameOverride) | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "jobbers.labels" -}}
app.kubernetes.io/part-of: jobbers
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* An image: {"top": the chart, "own": that of a worker, or nothing}. */}}
{{- define "jobbers.image" -}}
{{- $default := .top.Values.image -}}
{{- $own := default dict .own -}}
{{- $tag := default (default .top.Chart.AppVersion $default.tag) $own.tag -}}
image: {{ printf "%s:%s" (default $default.repository $own.repository) $tag | quote }}
imagePullPolicy: {{ default $default.pullPolicy $own.pullPolicy }}
{{- end -}}

{{- define "jobbers.pod" -}}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "jobbers.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{- define "jobbers.store" -}}
- name: ENGINE_URL
  valueFrom: {secretKeyRef: {name: {{ .Values.store.secret }}, key: {{ default "url" .Values.store.key }}}}
{{- end -}}

{{- define "jobbers.listening" -}}
- {name: MANAGER_LISTEN, value: "0.0.0.0:8000"}
- {name: MANAGER_TLS_CERT, value: /tls/tls.crt}
- {name: MANAGER_TLS_KEY, value: /tls/tls.key}
- {name: JOBBERS_BOOTSTRAP_KEY_FILE, value: /bootstrap/key}
{{- end -}}

{{- define "jobbers.secrets" -}}
- {name: tls, secret: {secretName: {{ .Values.tls.secret }}}}
- {name: bootstrap, secret: {secretName: {{ .Values.bootstrap.secret }}, items: [{key: {{ default "key" .Values.bootstrap.key }}, path: key}]}}
{{- end -}}

{{/* Probes of a port: {"port": its name, "scheme": HTTP or HTTPS, "every": seconds between two looks for readiness}. */}}
{{- define "jobbers.probes" -}}
readinessProbe: {httpGet: {path: /health/ready, port: {{ .port }}, scheme: {{ .scheme }}}, periodSeconds: {{ .every }}}
livenessProbe: {httpGet: {path: /health/live, port: {{ .port }}, scheme: {{ .scheme }}}, periodSeconds: 10, failureThreshold: 6}
{{- end -}}

{{/* Where pods may run: the values of one of the programs. */}}
{{- define "jobbers.placing" -}}
{{- with .nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .topologySpreadConstraints }}
topologySpreadConstraints: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
