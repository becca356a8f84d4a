package fuzztest

import "net/url"

// requests are what a request is about. Each returns the path.
func requests() []production[string] {
	made := func(name string, make func(g *Generator) string) production[string] {
		return production[string]{name, make}
	}
	plain := func(name, method string, one bool) production[string] {
		return made(name, func(g *Generator) string {
			g.kind(false)
			g.request.Method = method
			g.ask()
			if one {
				return g.object()
			}
			return g.collection()
		})
	}
	return []production[string]{
		plain("list", "GET", false),
		plain("read", "GET", true),
		made("create", (*Generator).create),
		made("create too", (*Generator).create),
		made("update", (*Generator).update),
		made("patch", (*Generator).patched),
		made("patch too", (*Generator).patched),
		made("delete", func(g *Generator) string { return g.remove(true) }),
		made("delete collection", func(g *Generator) string { return g.remove(false) }),
		made("watch", func(g *Generator) string {
			g.kind(false)
			g.request.Method = "GET"
			g.ask()
			g.query = append(g.query, "watch=true")
			return g.collection()
		}),
		made("subresource", (*Generator).subresource),
		made("special", (*Generator).special),
		made("special too", (*Generator).special),
		made("custom", func(g *Generator) string { return choose(g, "custom", customs) }),
		made("own", func(g *Generator) string { return choose(g, "own", own) }),
		made("beside", func(g *Generator) string {
			g.request.Method = pick(g, "GET", "GET", "GET", choose(g, "method", methods))
			g.ask()
			return choose(g, "beside", besides)
		}),
		made("strange path", func(g *Generator) string {
			path := choose(g, "path", paths)
			g.request.Method = choose(g, "method", methods)
			g.ask()
			if g.once(2) {
				g.json(g.body())
			}
			return path
		}),
	}
}

func (g *Generator) json(body []byte) {
	g.request.Body = body
	g.set("Content-Type", "application/json")
}

func (g *Generator) create() string {
	g.kind(false)
	g.request.Method = "POST"
	g.ask()
	path := g.collection()
	g.json(g.body())
	return path
}

func (g *Generator) update() string {
	g.kind(g.once(4))
	g.request.Method = "PUT"
	g.ask()
	path := g.object()
	g.json(g.body())
	return path
}

func (g *Generator) patched() string {
	g.kind(g.once(4))
	g.request.Method = "PATCH"
	g.ask()
	path := g.object()
	choose(g, "patch", patches)
	return path
}

func (g *Generator) remove(one bool) string {
	g.kind(false)
	g.request.Method = "DELETE"
	g.ask()
	if g.once(3) {
		g.json([]byte(choose(g, "options", deleteOptions)))
	}
	if one {
		return g.object()
	}
	return g.collection()
}

func (g *Generator) subresource() string {
	g.kind(true)
	g.request.Method = pick(g, "GET", "POST", "PUT", "DELETE", "GET", "POST")
	g.ask()
	path := g.object()
	if g.request.Method != "GET" {
		g.json(g.body())
	}
	return path
}

func deleteOptions() []production[string] {
	return append([]production[string]{{"learned UID", func(g *Generator) string {
		return `{"preconditions":{"uid":"` + g.uid + `","resourceVersion":"` + g.revision + `"}}`
	}}}, constants(
		`{}`, `{"propagationPolicy":"Foreground"}`, `{"propagationPolicy":"Orphan","orphanDependents":true}`, `{"gracePeriodSeconds":-1}`,
		`{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`, `{"kind":"DeleteOptions","apiVersion":"none/v1"}`,
		`{"kind":"Pod","apiVersion":"v1"}`,
		`{"dryRun":["All","x"]}`, `{"preconditions":{"resourceVersion":"x"}}`, `[]`, `null`, `{`, `{"gracePeriodSeconds":1e400}`, `"x"`)...)
}

// own are requests of kx's own group.
func own() []production[string] {
	const root = "/apis/kx.dev/v1alpha1/"
	get := func(name string, path func(g *Generator) string) production[string] {
		return production[string]{name, func(g *Generator) string {
			g.request.Method = "GET"
			return root + path(g)
		}}
	}
	post := func(name, path string, bodies ...string) production[string] {
		return production[string]{name, func(g *Generator) string {
			g.request.Method = pick(g, "POST", "PUT", "PATCH", "DELETE")
			g.json([]byte(pick(g, bodies...)))
			return root + path
		}}
	}
	query := func(g *Generator) string {
		g.ask()
		return ""
	}
	return []production[string]{
		get("journey", func(g *Generator) string { return "journeys/" + g.journey }),
		get("journey with objects", func(g *Generator) string { return "journeys/" + g.journey + "?at=0" }),
		get("journeys", func(g *Generator) string { return "journeys" + query(g) }),
		get("journeys by filter", func(g *Generator) string {
			return "journeys?filter=" + url.QueryEscape(pick(g, "verb:create", "user:admin", "step:etcd3.get took:>1us", "code:>=400", "(",
				"-verb:get OR x", "resource:secrets"))
		}),
		get("installs", func(*Generator) string { return "journeys?filter=verb:install" }),
		get("caches", func(g *Generator) string { return "caches" + query(g) }),
		get("cache", func(g *Generator) string {
			return "caches/" + pick(g, "secrets", "configmaps", "pods", "none", "widgets.fuzz.example.com") + pick(g, "", "/check", "?at=1",
				"?key=x")
		}),
		get("keys", func(g *Generator) string {
			return "keys" + pick(g, "", "?prefix=/registry/secrets/", "?prefix=/registry/&limit=3", "?prefix=/&continue=x", "?watch=true",
				"?prefix=%00", "?values=true")
		}),
		get("key", func(g *Generator) string {
			return "keys/" + pick(g, "/:registry:secrets:far:marked", ":registry:secrets:far:marked", ":registry:secrets:near:marked", ":",
				"x") + pick(g, "", "/history", "?revision=1", "?form=raw")
		}),
		get("others", func(g *Generator) string {
			path := pick(g, "breakpoints", "faults", "recordings", "structure", "structure/etcd", "sources", "sources/x", "compactions",
				"accessreviews", "rules",
				"versions", "", "none")
			return path + query(g)
		}),
		post("breakpoint", "breakpoints", `{"metadata":{"name":"x"},"spec":{"filter":"name:none"}}`,
			`{"metadata":{"name":"x"},"spec":{"filter":"("}}`, `{}`),
		post("fault", "faults", `{"metadata":{"name":"x"},"spec":{"filter":"name:none","effect":"Fail","code":409}}`,
			`{"spec":{"effect":"x"}}`),
		post("recording", "recordings", `{"metadata":{"name":"x"},"spec":{"filter":"name:none","seconds":1}}`,
			`{"metadata":{"name":"x"},"spec":{"filter":"verb:get","allow":["Breakpoints"],"seconds":1}}`, `{"spec":{"seconds":-1}}`),
		post("access review", "accessreviews", `{"spec":{"user":"editor","resourceAttributes":{"verb":"get","resource":"secrets"}}}`,
			`{"spec":{}}`, `{"spec":null}`),
		post("compaction", "compactions", `{"spec":{"revision":1}}`, `{"spec":{"revision":-1}}`, `{}`),
		post("step", "journeys/x/step", `{"spec":{"action":"continue"}}`, `{"spec":{"action":"edit","object":{"a":null}}}`, `{}`),
	}
}

func (g *Generator) special() string { return choose(g, "special", specials) }
