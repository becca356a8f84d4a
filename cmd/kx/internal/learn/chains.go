package learn

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kx-apiserver/kx/docs"
)

// A lesson names the chains of docs/articles.md that it shows. It shows a chain if one of its journeys takes the
// steps of the chain in their order.

var (
	chainTitle = regexp.MustCompile(`(?m)^### (.+)$`)
	chainRow   = regexp.MustCompile("(?m)^\\| .* \\| `([a-z0-9.-]+)` \\| `[^`]+` \\| \\S+ \\| .*\\|$")
	noSlug     = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// slug returns the name of a heading in links.
func slug(heading string) string {
	return strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// chain is a call chain of docs/articles.md.
type chain struct {
	title string
	steps []string
}

// filter returns a filter for journeys that take the steps. Journeys of installations match only with verb:install.
func (c chain) filter() string {
	f := "(" + strings.Join(c.steps, " -> ") + ")"
	if strings.HasPrefix(c.steps[0], "install.") || strings.HasPrefix(c.steps[0], "storage.") {
		f = "verb:install " + f
	}
	return f
}

// chains parses the chains of docs/articles.md: their slugs in order, and the chains by slug.
var chains = sync.OnceValues(func() (order []string, bySlug map[string]chain) {
	data, err := fs.ReadFile(docs.Files, "articles.md")
	if err != nil {
		panic(err) // the file is embedded
	}
	text := string(data)
	bySlug = map[string]chain{}
	titles := chainTitle.FindAllStringSubmatchIndex(text, -1)
	for i, at := range titles {
		end := len(text)
		if i+1 < len(titles) {
			end = titles[i+1][0]
		}
		c := chain{title: text[at[2]:at[3]]}
		for _, m := range chainRow.FindAllStringSubmatch(text[at[1]:end], -1) {
			if n := len(c.steps); n == 0 || c.steps[n-1] != m[1] {
				c.steps = append(c.steps, m[1])
			}
		}
		order = append(order, slug(c.title))
		bySlug[slug(c.title)] = c
	}
	return order, bySlug
})

// claims holds the chains that a lesson names and has not shown yet.
type claims map[string]chain

// claimsOf returns the chains of names. The second result reports unknown ones.
func claimsOf(names []string) (claims, []string) {
	_, known := chains()
	c := claims{}
	var problems []string
	for _, name := range names {
		if found, ok := known[name]; ok && len(found.steps) > 0 {
			c[name] = found
		} else {
			problems = append(problems, fmt.Sprintf("articles: docs/articles.md has no chain %s", name))
		}
	}
	return c, problems
}

// open describes the chains that were not shown.
func (c claims) open() []string {
	var left []string
	for name, one := range c {
		left = append(left, fmt.Sprintf("articles: no request of the lesson shows %s: %s", name, one.filter()))
	}
	slices.Sort(left)
	return left
}
