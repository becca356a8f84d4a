package fuzztest

import (
	"fmt"
	"strings"
)

// favourites are resources that are drawn as often as all others together.
var favourites = []string{
	"configmaps", "secrets", "pods", "services", "serviceaccounts", "namespaces", "deployments", "roles", "rolebindings", "clusterroles",
	"customresourcedefinitions", "events", "nodes", "leases", "jobs", "widgets",
}

// kind draws a resource, without or with a subresource: often that of the request before.
func (g *Generator) kind(sub bool) {
	if _, s := g.previous.parts(); g.previous.Name != "" && (s != "") == sub && g.number(2) == 1 {
		g.resource = g.previous
		return
	}
	defer func() { g.previous = g.resource }()
	var all []Resource
	favourite := ""
	if g.number(2) == 0 {
		favourite = pick(g, favourites...)
	}
	for _, r := range g.surface.Resources {
		plural, s := r.parts()
		if (s != "") == sub && (favourite == "" || plural == favourite) {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		all = g.surface.Resources[:1]
	}
	g.resource = pick(g, all...)
}

// collection is the path of the resource's objects in a namespace, or in all.
func (g *Generator) collection() string {
	plural, _ := g.resource.parts()
	if !g.resource.Namespaced && !g.once(32) || g.resource.Namespaced && g.once(8) {
		return g.resource.root() + "/" + plural
	}
	return g.resource.root() + "/namespaces/" + g.namespace() + "/" + plural
}

func (g *Generator) namespace() string {
	if g.once(16) {
		return choose(g, "name", objectNames)
	}
	return pick(g, g.surface.Namespaces...)
}

// object is the path of one object of the resource that was drawn.
func (g *Generator) object() string {
	_, sub := g.resource.parts()
	path := g.collection() + "/" + choose(g, "name", objectNames)
	if sub != "" {
		path += "/" + sub
	}
	return path
}

func objectNames() []production[string] {
	known := func(g *Generator) string { return pick(g, g.surface.Names...) }
	fresh := func(g *Generator) string { return fmt.Sprintf("fresh-%d", g.number(3)) }
	return append([]production[string]{
		{"known", known}, {"also known", known}, {"known too", known},
		{"fresh", fresh}, {"fresh too", fresh}, {"also fresh", fresh}, {"fresh again", fresh},
		{"learned", func(g *Generator) string {
			if g.name == "" {
				return "none"
			}
			return g.name
		}},
		{"namespace", func(g *Generator) string { return pick(g, g.surface.Namespaces...) }},
		{"long", constant(strings.Repeat("x", 300))},
		{"very long", constant(strings.Repeat("x", 20000))},
	}, constants(".", "..", "%2e%2e", "a%2Fb", "%00", "%ff", "UPPER", "a:b", "%25", "*", "-", "a b", "系统", "widgets.fuzz.example.com")...)
}

// paths are paths of resources, well-formed or not.
func paths() []production[string] {
	edit := func(name string, edit func(g *Generator, path string) string) production[string] {
		return production[string]{name, func(g *Generator) string {
			g.kind(g.once(3))
			return edit(g, g.object())
		}}
	}
	return []production[string]{
		{"collection", func(g *Generator) string { g.kind(false); return g.collection() }},
		{"object", func(g *Generator) string { g.kind(false); return g.object() }},
		{"subresource", func(g *Generator) string { g.kind(true); return g.object() }},
		edit("trailing slash", func(_ *Generator, p string) string { return p + "/" }),
		edit("double slash", func(g *Generator, p string) string { return strings.Replace(p, "/", "//", 1+g.number(6)) }),
		edit("dots", func(g *Generator, p string) string { return p + pick(g, "/..", "/.", "/../../secrets", "/%2e%2e/") }),
		edit("more", func(g *Generator, p string) string {
			return p + pick(g, "/status", "/scale", "/log", "/x/y/z", "/proxy/a/b?c")
		}),
		edit("less", func(g *Generator, p string) string { return p[:len(p)*g.number(16)/16] }),
		edit("escaped", func(_ *Generator, p string) string { return strings.ReplaceAll(p, "a", "%61") }),
		edit("escaped slashes", func(_ *Generator, p string) string { return "/" + strings.ReplaceAll(p[1:], "/", "%2F") }),
		edit("bad escape", func(g *Generator, p string) string { return p + pick(g, "%", "%zz", "%f") }),
		edit("upper case", func(_ *Generator, p string) string { return strings.ToUpper(p) }),
		edit("watch prefix", func(g *Generator, p string) string {
			return strings.Replace(p, g.resource.root(), g.resource.root()+"/watch", 1)
		}),
		edit("proxy prefix", func(g *Generator, p string) string {
			return strings.Replace(p, g.resource.root(), g.resource.root()+"/proxy", 1)
		}),
		edit("other version", func(g *Generator, p string) string {
			return strings.Replace(p, "/"+g.resource.Version+"/", pick(g, "/v1/", "/v2/", "/v1alpha1/", "/v1beta1/", "/__internal/", "//"),
				1)
		}),
		edit("other group", func(g *Generator, p string) string {
			return strings.Replace(p, g.resource.root(), "/apis/"+pick(g, "apps", "none.example.com", "fuzz.example.com", "batch")+"/v1", 1)
		}),
		edit("semicolons", func(_ *Generator, p string) string { return strings.ReplaceAll(p, "/namespaces/", ";a=b/namespaces/;") }),
		edit("raw bytes", func(_ *Generator, p string) string { return p + "\xff\xfe" }),
	}
}

// besides are paths beside the resources.
func besides() []production[string] {
	group := func(g *Generator) string {
		r := pick(g, g.surface.Resources...)
		return r.root()
	}
	return append([]production[string]{
		{"group version", group},
		{"schema", func(g *Generator) string { return "/openapi/v3" + group(g) }},
		{"group", func(g *Generator) string { return "/apis/" + pick(g, g.surface.Resources...).Group }},
	}, constants(
		"/", "", "*", "/api", "/api/", "/apis", "/apis/", "/version", "/version/", "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/none/v1",
		"/openapi/v3/api/v1?hash=0", "/healthz", "/healthz/etcd?verbose", "/livez?exclude=etcd&verbose", "/readyz", "/readyz/none",
		"/metrics",
		"/metrics/slis", "/metrics/resources", "/debug/pprof", "/debug/pprof/heap", "/debug/pprof/profile?seconds=x", "/debug/flags/v",
		"/debug/api_priority_and_fairness/dump_queues", "/debug/api_priority_and_fairness/dump_requests?includeRequestDetails=1",
		"/flagz", "/statusz", "/logs", "/logs/../../etc/passwd", "/.well-known/openid-configuration", "/openid/v1/jwks", "/swagger.json",
		"/ui", "/apis/kx.dev", "/index.html", "/api/v1/proxy/nodes/x", "/..", "//", "/%2e%2e/metrics",
	)...)
}

func methods() []production[string] {
	return constants("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get", "WATCH", "LIST", "PROPFIND", "X-Y")
}
