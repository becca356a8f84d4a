package fuzztest

import "slices"

// production is one alternative of a table of the grammar.
type production[T any] struct {
	name string
	make func(*Generator) T
}

// number takes a number below limit from the bytes.
func (g *Generator) number(limit int) int {
	n := 0
	for left := limit - 1; left > 0; left >>= 8 {
		if len(g.bytes) == 0 {
			return 0
		}
		n = n<<8 | int(g.bytes[0])
		g.bytes = g.bytes[1:]
	}
	return n % limit
}

// once reports true in one of n cases, and never when no bytes are left.
func (g *Generator) once(n int) bool { return g.number(n) == n-1 && n > 1 }

// choose takes one of a table's productions. Tables can be large, and each is made once for a surface.
func choose[T any](g *Generator, table string, productions func() []production[T]) T {
	all, made := g.surface.tables[table].([]production[T])
	if !made {
		all = productions()
		if g.surface.tables == nil {
			g.surface.tables = map[string]any{}
		}
		g.surface.tables[table] = all
	}
	p := all[g.number(len(all))]
	g.taken[table+"/"+p.name] = true
	return p.make(g)
}

func pick[T any](g *Generator, all ...T) T { return all[g.number(len(all))] }

func constant[T any](v T) func(*Generator) T { return func(*Generator) T { return v } }

// constants are productions that are their own names.
func constants(all ...string) (made []production[string]) {
	for _, s := range all {
		made = append(made, production[string]{s, constant(s)})
	}
	return made
}

func names[T any](table string, all []production[T]) (found []string) {
	for _, p := range all {
		found = append(found, table+"/"+p.name)
	}
	return found
}

// Productions returns the names of all productions of the grammar, sorted.
func Productions() []string {
	all := slices.Concat(
		names("request", requests()), names("user", users()), names("credentials", credentials()), names("path", paths()), names("beside",
			besides()), names("method", methods()),
		names("query", queries()), names("selector", selectors()), names("revision", revisions()), names("continue", continues()),
		names("accept", accepts()), names("content", contents()), names("header", headers()), names("name", objectNames()),
		names("body", bodies()), names("metadata", metadata()), names("value", values()), names("damage", damages()),
		names("patch", patches()), names("json patch", operations()), names("merge patch", mergePatches()),
		names("strategic patch", strategicPatches()), names("special", specials()), names("own", own()),
		names("definition", definitions()), names("custom", customs()), names("expression", expressions()), names("options",
			deleteOptions()),
	)
	slices.Sort(all)
	return all
}
