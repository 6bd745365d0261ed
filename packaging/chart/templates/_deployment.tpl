{{/* A Deployment of a role. (dict "top" $ "name" NAME "role" ROLE "values" VALUES "args" LIST "env" LIST "ports" LIST-OF-DICTS
     "ready" PATH "config" CONFIGMAP-OR-EMPTY) */}}
{{- define "koord.deployment" -}}
{{- $top := .top -}}
{{- $values := .values -}}
{{- $name := .name -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ $top.Values.installation.namespace }}
  labels:
    koord-app: {{ $name }}
spec:
  replicas: {{ $values.replicas }}
  minReadySeconds: 3
  selector:
    matchLabels:
      koord-app: {{ $name }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 100%
      maxUnavailable: 0
  template:
    metadata:
      labels:
        koord-app: {{ $name }}
      {{- with .configText }}
      annotations:
        # A changed configuration begins a rollout.
        checksum/config: {{ sha256sum . }}
      {{- end }}
    spec:
      {{- include "koord.pullSecrets" $top | nindent 6 }}
      serviceAccountName: {{ $name }}
      terminationGracePeriodSeconds: 30
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      hostNetwork: {{ $values.hostNetwork }}
      {{- if $values.hostNetwork }}
      dnsPolicy: ClusterFirstWithHostNet
      {{- end }}
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm:
              topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  koord-app: {{ $name }}
        {{- with $values.nodeAffinity }}
        nodeAffinity:
          {{- toYaml . | nindent 10 }}
        {{- end }}
      {{- with $top.Values.topologySpreadKeys }}
      topologySpreadConstraints:
      {{- range . }}
      - maxSkew: 1
        topologyKey: {{ . }}
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            koord-app: {{ $name }}
        matchLabelKeys: [pod-template-hash]
      {{- end }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: {{ .role }}
        image: {{ include "koord.image" (dict "top" $top "image" $values.image) | quote }}
        imagePullPolicy: {{ $top.Values.imagePullPolicy }}
        command: [/koord]
        args:
        - --role={{ .role }}
        {{- range .args }}
        - {{ quote . }}
        {{- end }}
        - --v={{ $values.log.level }}
        {{- range $values.extraArgs }}
        - {{ quote . }}
        {{- end }}
        {{- with .env }}
        env:
          {{- toYaml . | nindent 8 }}
        {{- end }}
        ports:
        {{- range .ports }}
        - name: {{ .name }}
          containerPort: {{ .port }}
        {{- end }}
        # Fails where a loop hangs, and for nothing else: not while the API server is away.
        livenessProbe:
          httpGet:
            path: /livez
            port: {{ .probed }}
          initialDelaySeconds: 30
          periodSeconds: 20
          timeoutSeconds: 10
        readinessProbe:
          httpGet:
            path: {{ .ready }}
            port: {{ .probed }}
          periodSeconds: 3
        resources:
          {{- toYaml $values.resources | nindent 10 }}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop: [ALL]
        volumeMounts:
        {{- if .config }}
        - name: config
          mountPath: /config
          readOnly: true
        {{- else }}
        - name: tmp
          mountPath: /tmp
        {{- end }}
      volumes:
      {{- if .config }}
      - name: config
        configMap:
          name: {{ .config }}-config
          items:
          - key: {{ .config }}-config
            path: {{ .config }}.config
      {{- else }}
      - name: tmp
        emptyDir:
          sizeLimit: 16Mi
      {{- end }}
{{- if and $top.Values.podDisruptionBudgets (gt (int $values.replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ $top.Values.installation.namespace }}
  labels:
    koord-app: {{ $name }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      koord-app: {{ $name }}
{{- end }}
{{- if $values.monitorEnabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: {{ $name }}-metrics-podmonitor
  namespace: {{ $top.Values.installation.namespace }}
  labels:
    koord-app: {{ $name }}
spec:
  selector:
    matchLabels:
      koord-app: {{ $name }}
  podMetricsEndpoints:
  - interval: 30s
    path: /metrics
    port: metrics
{{- end }}
{{- if $top.Values.networkPolicies.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $name }}
  namespace: {{ $top.Values.installation.namespace }}
  labels:
    koord-app: {{ $name }}
spec:
  podSelector:
    matchLabels:
      koord-app: {{ $name }}
  policyTypes: [Ingress]
  ingress:
  {{- range .ports }}
  {{- $webhooks := eq .name "webhook-server" }}
  - ports:
    - protocol: TCP
      port: {{ .port }}
    {{- if and $webhooks $top.Values.networkPolicies.apiServers }}
    from:
    {{- range $top.Values.networkPolicies.apiServers }}
    - ipBlock:
        cidr: {{ . }}
    {{- end }}
    {{- else if and (not $webhooks) $top.Values.networkPolicies.monitoring }}
    from:
      {{- toYaml $top.Values.networkPolicies.monitoring | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end -}}
