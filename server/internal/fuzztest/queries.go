package fuzztest

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
)

// ask draws parameters of the query.
func (g *Generator) ask() {
	for g.number(3) == 1 && len(g.query) < 6 {
		g.query = append(g.query, choose(g, "query", queries))
	}
}

func queries() []production[string] {
	parameter := func(name string, values ...string) production[string] {
		return production[string]{name, func(g *Generator) string { return name + "=" + pick(g, values...) }}
	}
	return []production[string]{
		parameter("limit", "1", "2", "0", "-1", "9223372036854775808", "x", ""),
		{"continue", func(g *Generator) string { return "limit=1&continue=" + choose(g, "continue", continues) }},
		{"resourceVersion", func(g *Generator) string { return "resourceVersion=" + choose(g, "revision", revisions) }},
		parameter("resourceVersionMatch", "Exact", "NotOlderThan", "exact", ""),
		{"both revisions", func(g *Generator) string {
			return "resourceVersionMatch=" + pick(g, "Exact", "NotOlderThan") + "&resourceVersion=" + choose(g, "revision", revisions)
		}},
		{"labelSelector", func(g *Generator) string {
			return "labelSelector=" + url.QueryEscape(choose(g, "selector", selectors))
		}},
		{"fieldSelector", func(g *Generator) string {
			return "fieldSelector=" + url.QueryEscape(choose(g, "selector", selectors))
		}},
		parameter("watch", "true", "1", "false", "x", ""),
		parameter("timeoutSeconds", "1", "0", "-1", "x", "99999999999999999999"),
		parameter("allowWatchBookmarks", "true", "x"),
		{"sendInitialEvents", func(g *Generator) string {
			return "watch=true&sendInitialEvents=" + pick(g, "true", "false", "x") + pick(g, "",
				"&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
		}},
		parameter("dryRun", "All", "None", "", "all", "All&dryRun=All"),
		parameter("fieldManager", "m", "", "%00", strings.Repeat("m", 200)),
		parameter("fieldValidation", "Strict", "Warn", "Ignore", "x"),
		parameter("force", "true", "false", "x"),
		parameter("propagationPolicy", "Background", "Foreground", "Orphan", "x"),
		parameter("orphanDependents", "true", "false", "x"),
		parameter("gracePeriodSeconds", "0", "1", "-1", "x", "9223372036854775807"),
		parameter("pretty", "true", "false", "x"),
		parameter("includeObject", "None", "Object", "Metadata", "x"),
		parameter("timeout", "1ms", "1s", "x", "-1s", "1000h"),
		parameter("container", "main", "x"),
		parameter("tailLines", "1", "x"),
		parameter("follow", "true", "x"),
		parameter("command", "sh", ""),
		parameter("path", "/metrics", "../x"),
		parameter("ignoreStoreReadErrorWithClusterBreakingPotential", "true", "x"),
		parameter("filter", "verb:get", "step:(", "took:>1ms"),
		parameter("as", "admin", "system:masters"),
		parameter("access_token", "x"),
		{"semicolon", constant("limit=1;watch=true")},
		{"no name", constant("=&&=x")},
		{"invalid UTF-8", constant("labelSelector=%ff%fe&\xff=\xfe")},
		{"bad escape", constant("limit=%zz&labelSelector=%")},
		{"twice", func(g *Generator) string {
			return "limit=1&limit=2&resourceVersion=0&resourceVersion=" + choose(g, "revision", revisions)
		}},
		{"long", constant("labelSelector=" + strings.Repeat("a,", 4000) + "a")},
		{"many", constant(strings.Repeat("dryRun=All&", 2000))},
	}
}

func selectors() []production[string] {
	return append([]production[string]{
		{"name", func(g *Generator) string { return "metadata.name=" + choose(g, "name", objectNames) }},
		{"namespace", func(g *Generator) string { return "metadata.namespace=" + g.namespace() }},
		{"other namespace", func(g *Generator) string { return "metadata.namespace!=" + g.namespace() + ",metadata.name!=x" }},
		{"many", constant(strings.Repeat("a in (b,c),", 500) + "a")},
	}, constants("a=b", "a!=b", "a in (b,c)", "a notin (b)", "!a", "a", "=", ",", "a=b=c", "a in (", "metadata.name", "metadata.name=\\,a",
		"spec.nodeName=x", "status.phase!=Running", "spec.replicas=1", "type=Opaque", "none=x", "a>1,a<2", "a>x", "\xff")...)
}

func revisions() []production[string] {
	return append([]production[string]{{"learned", func(g *Generator) string { return g.revision }}},
		constants("0", "1", "2", "-1", "x", "", "9223372036854775807", "18446744073709551616", "1.5", "00")...)
}

func continues() []production[string] {
	token := func(json string) func(*Generator) string {
		return constant(base64.RawURLEncoding.EncodeToString([]byte(json)))
	}
	return []production[string]{
		{"learned", func(g *Generator) string { return g.next }},
		{"damaged", func(g *Generator) string { return g.next[:len(g.next)*g.number(8)/8] + "A" }},
		{"garbage", constant("%00!!")},
		{"no JSON", token("x")},
		{"made", token(`{"v":"meta.k8s.io/v1","rv":1,"start":"a/b\u0000"}`)},
		{"upward", token(`{"v":"meta.k8s.io/v1","rv":-1,"start":"../../../secrets/far/marked"}`)},
		{"negative", token(`{"v":"meta.k8s.io/v1","rv":-9223372036854775808,"start":"x"}`)},
		{"future", token(`{"v":"meta.k8s.io/v1","rv":9223372036854775807,"start":"x"}`)},
		{"other version", token(`{"v":"meta.k8s.io/v9","rv":1,"start":"x"}`)},
		{"bytes", token("{\"v\":\"meta.k8s.io/v1\",\"rv\":1,\"start\":\"\xff\xff\xff\"}")},
	}
}

func accepts() []production[string] {
	return append([]production[string]{{"none", constant("")}}, constants(
		"application/json", "application/yaml", "application/cbor", "application/vnd.kubernetes.protobuf", "*/*", "text/html", "text/plain",
		"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
		"application/yaml;as=Table;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
		"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"application/cbor;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/json;as=X;v=v1;g=meta.k8s.io",
		"application/json;as=PodList;v=v1;g=", "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch",
		"application/cbor-seq",
		"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/json;q=0", "application/json;q=2;;;", ";",
		",,,",
		"a/b",
		"application/json; profile=nopeer;pretty=1", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", "\xff")...)
}

// contents are content types of bodies.
func contents() []production[string] {
	return append([]production[string]{{"none", constant("")}}, constants(
		"application/json", "application/yaml", "application/cbor", "application/vnd.kubernetes.protobuf",
		"application/json;charset=latin1",
		"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
		"application/apply-patch+yaml",
		"application/apply-patch+cbor", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "a", ";",
		"*/*",
		"\xff")...)
}

func headers() []production[struct{}] {
	header := func(name string, values ...string) production[struct{}] {
		return production[struct{}]{name, func(g *Generator) struct{} { g.request.Header.Add(name, pick(g, values...)); return struct{}{} }}
	}
	return []production[struct{}]{
		{"Accept", func(g *Generator) struct{} { g.set("Accept", choose(g, "accept", accepts)); return struct{}{} }},
		{"Accept too", func(g *Generator) struct{} { g.set("Accept", choose(g, "accept", accepts)); return struct{}{} }},
		{"Content-Type", func(g *Generator) struct{} {
			g.set("Content-Type", choose(g, "content", contents))
			return struct{}{}
		}},
		header("Kx-Trace", "objects", "off", "x"),
		header("Kx-Hold", "off", "on"),
		header("Kx-Journey", "x"),
		header("Accept-Encoding", "gzip", "deflate", "gzip;q=0", "*"),
		header("Content-Encoding", "gzip"),
		header("If-None-Match", "*", `"x"`),
		header("If-Match", "*"),
		header("Range", "bytes=0-1"),
		header("Origin", "https://example.com", "null"),
		header("Audit-Id", "x", strings.Repeat("x", 1000), "\xff"),
		header("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "x"),
		header("X-Forwarded-For", "10.0.0.1", "x,,"),
		header("X-Forwarded-Uri", "/api"),
		header("X-Http-Method-Override", "DELETE"),
		header("User-Agent", "", "kubectl/v1.37", "Mozilla/5.0", "\xff"),
		header("Expect", "100-continue", "x"),
		{"Upgrade", func(g *Generator) struct{} {
			g.request.HTTP1 = true
			g.set("Connection", "Upgrade")
			g.set("Upgrade", pick(g, "SPDY/3.1", "websocket", "h2c", "x"))
			g.set("Sec-Websocket-Version", "13")
			g.set("Sec-Websocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
			g.set("Sec-Websocket-Protocol", pick(g, "v5.channel.k8s.io", "base64.binary.k8s.io",
				"base64url.bearer.authorization.k8s.io.eA,v4.channel.k8s.io"))
			return struct{}{}
		}},
		{"HTTP/1.1", func(g *Generator) struct{} { g.request.HTTP1 = true; return struct{}{} }},
	}
}

func (g *Generator) set(name, value string) {
	if value != "" {
		g.request.Header[http.CanonicalHeaderKey(name)] = []string{value}
	}
}
