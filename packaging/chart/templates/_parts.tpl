{{/* What several templates need. */}}

{{/* A file of packaging, in this installation's namespace. (dict "top" $ "path" PATH) */}}
{{- define "koord.file" -}}
{{- .top.Files.Get .path | replace "koordinator-system" .top.Values.installation.namespace -}}
{{- end -}}

{{/* One object of such a file, by its name, as YAML. (dict "top" $ "path" PATH "name" NAME) */}}
{{- define "koord.object" -}}
{{- $name := .name -}}
{{- range splitList "\n---\n" (include "koord.file" .) -}}
{{- $object := fromYaml . -}}
{{- if eq $object.metadata.name $name }}{{ toYaml $object }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* (dict "top" $ "image" IMAGE) */}}
{{- define "koord.image" -}}
{{- with .top.Values.imageRepositoryHost }}{{ . }}/{{ end }}{{ .image.repository }}:{{ .image.tag -}}
{{- end -}}

{{- define "koord.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{ toYaml . }}
{{- end -}}
{{- end -}}

{{/* What the gates and flags of each account are, as one text for "koord.on". */}}
{{- define "koord.koordletGates" -}}
{{ default "BECPUEvict=true,BEMemoryEvict=true,CgroupReconcile=true,Accelerators=true" .Values.koordlet.features }}
{{- end -}}
{{- define "koord.switches" -}}
koord-manager: {{ printf "%s,%s" .Values.featureGates (regexReplaceAll "--ui=[^,]*[0-9](,|$)" (join "," .Values.manager.extraArgs) "--ui${1}") | quote }}
koord-scheduler: {{ printf "%s,%s,%s" .Values.scheduler.featureGates (ternary "enable-network-topology-manager" "" .Values.scheduler.networkTopology) (join "," .Values.scheduler.extraArgs) | quote }}
koord-descheduler: {{ printf "%s,%s" .Values.descheduler.featureGates (join "," .Values.descheduler.extraArgs) | quote }}
koordlet: {{ printf "%s,%s,%s" (include "koord.koordletGates" .) (ternary "only-evict-by-api" "" .Values.koordlet.onlyEvictByApi) (join "," .Values.koordlet.extraArgs) | quote }}
{{- end -}}

{{/* "true" where a gate or flag is on; of all gates at once, too: they are named with capitals. (dict "name" NAME "in" TEXT) */}}
{{- define "koord.on" -}}
{{- $off := regexMatch (printf "(?i)(^|[,=\\s-])%s=(false|f|0)\\b" .name) .in -}}
{{- $on := regexMatch (printf "(?i)(^|[,=\\s-])%s(=(true|t|1))?\\s*(,|$)" .name) .in -}}
{{- $all := regexMatch "(?i)(^|[,=\\s])All(Alpha|Beta)=(true|t|1)\\b" .in -}}
{{- $gate := regexMatch "^[A-Z]" .name -}}
{{- if and (not $off) (or $on (and $gate $all)) }}true{{ end -}}
{{- end -}}
