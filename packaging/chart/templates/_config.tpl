{{/* The configurations of packaging/manifests/20-config.yaml, with what the values say otherwise. */}}

{{- define "koord.schedulerConfig" -}}
{{- $ns := .Values.installation.namespace -}}
{{- $map := include "koord.object" (dict "top" . "path" "files/manifests/20-config.yaml" "name" "koord-scheduler-config") | fromYaml -}}
{{- $config := index $map.data "koord-scheduler-config" | fromYaml -}}
{{- $profile := first $config.profiles -}}
{{- $rows := list -}}
{{- range $profile.pluginConfig -}}
{{- if eq .name "LoadAwareScheduling" }}{{ $_ := set .args "usageThresholds" $.Values.scheduler.usageThresholds }}{{ end -}}
{{- $rows = append $rows . -}}
{{- end -}}
{{- $kind := dict "apiVersion" "kubescheduler.config.k8s.io/v1" -}}
{{- $gangs := merge (dict "kind" "CoschedulingArgs" "awareNetworkTopology" .Values.scheduler.networkTopology "enablePreemption" .Values.scheduler.enableJobPreemption) $kind -}}
{{- $templates := dict "configMapNamespace" $ns "configMapName" "gpu-shared-resource-templates" "matchedResources" (list "huawei.com/npu-core") -}}
{{- $devices := merge (dict "kind" "DeviceShareArgs" "gpuSharedResourceTemplatesConfig" $templates) $kind -}}
{{- with .Values.scheduler.deviceShare }}{{ with .gpuShareUnsupportedModels }}{{ $_ := set $devices "gpuShareUnsupportedModels" . }}{{ end }}{{ end -}}
{{- $rows = concat $rows (list (dict "name" "Coscheduling" "args" $gangs) (dict "name" "DeviceShare" "args" $devices)) -}}
{{- $_ := set $profile "pluginConfig" $rows -}}
{{- if .Values.scheduler.enableJobPreemption -}}
{{- $kept := list -}}
{{- range $profile.plugins.postFilter.enabled }}{{ if ne .name "DefaultPreemption" }}{{ $kept = append $kept . }}{{ end }}{{ end -}}
{{- $_ := set $profile.plugins.postFilter "enabled" $kept -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{- define "koord.deschedulerConfig" -}}
{{- $map := include "koord.object" (dict "top" . "path" "files/manifests/20-config.yaml" "name" "koord-descheduler-config") | fromYaml -}}
{{- $config := index $map.data "koord-descheduler-config" | fromYaml -}}
{{- $address := printf "0.0.0.0:%v" .Values.descheduler.port -}}
{{- $_ := set $config "healthzBindAddress" $address -}}
{{- $_ := set $config "metricsBindAddress" $address -}}
{{- toYaml $config -}}
{{- end -}}
