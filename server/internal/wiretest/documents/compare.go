package documents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// Difference is one place where an answer of kx is not that of the kube-apiserver.
type Difference struct {
	// At is the request and the path to the value, with " | " between.
	At string
	// Kube and KX are what is there, nil for nothing.
	Kube, KX any
	// Values is how many values of the kube-apiserver's differ by it, at least one.
	Values int
}

func (d Difference) String() string {
	return fmt.Sprintf("%s\n  kube-apiserver: %s\n  kx:             %s", d.At, short(d.Kube), short(d.KX))
}

func short(value any) string {
	if value == nil {
		return "nothing"
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	if len(data) > 400 {
		return string(data[:400]) + "…"
	}
	return string(data)
}

// Tally is what a comparison comes to.
type Tally struct {
	// Answers and Values count what the kube-apiserver said.
	Answers, Values int
	Differences     []Difference
}

// Compare compares an answer to each other server's.
func (t *Tally) Compare(kube, kx Answer) {
	t.Answers++
	if kube.Code == http.StatusOK && kx.Code != http.StatusOK {
		n := count(kube.Tree)
		t.Values += n
		t.Differences = append(t.Differences, Difference{kube.Ask.String() + " | code", kube.Code, kx.Code, n})
		return
	}
	t.values(kube.Ask.String(), "code", kube.Code, kx.Code)
	for _, name := range compared {
		t.values(kube.Ask.String(), name, orNil(kube.Header[name]), orNil(kx.Header[name]))
	}
	t.compare(kube.Ask.String(), kube.Tree, kx.Tree)
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (t *Tally) values(at, name string, kube, kx any) {
	if kube == nil && kx == nil {
		return
	}
	t.compare(at+" | "+name, kube, kx)
}

// compare walks two trees. What they have in common is counted, what one of them lacks is a difference.
func (t *Tally) compare(at string, kube, kx any) {
	switch is := kube.(type) {
	case map[string]any:
		if other, ok := kx.(map[string]any); ok {
			t.fields(at, is, other)
			return
		}
	case []any:
		if other, ok := kx.([]any); ok {
			t.lists(at, is, other)
			return
		}
	}
	n := max(1, count(kube))
	t.Values += n
	if !reflect.DeepEqual(kube, kx) {
		t.Differences = append(t.Differences, Difference{at, kube, kx, n})
	}
}

func (t *Tally) fields(at string, kube, kx map[string]any) {
	names := maps.Clone(kube)
	maps.Copy(names, kx)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		t.compare(at+" | "+name, kube[name], kx[name])
	}
}

func (t *Tally) lists(at string, kube, kx []any) {
	is, order := named(kube)
	other, otherOrder := named(kx)
	switch {
	case is != nil && other != nil:
		t.fields(at, is, other)
		t.order(at, order, otherOrder)
	case len(kube) == len(kx):
		for i := range kube {
			t.compare(fmt.Sprintf("%s | %d", at, i), kube[i], kx[i])
		}
	default:
		n := max(1, count(kube))
		t.Values += n
		t.Differences = append(t.Differences, Difference{at, kube, kx, n})
	}
}

// order compares the order of what both lists have.
func (t *Tally) order(at string, kube, kx []string) {
	common := func(list, other []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !slices.Contains(other, name) })
	}
	is, other := common(kube, kx), common(kx, kube)
	t.Values++
	if !slices.Equal(is, other) {
		t.Differences = append(t.Differences, Difference{at + " | order", is, other, 1})
	}
}

// named are the items of a list by what names them, if each has a name of its own. An empty list has none to miss.
func named(list []any) (byName map[string]any, order []string) {
	byName = map[string]any{}
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, nil
		}
		name := nameOf(fields)
		if _, twice := byName[name]; twice || name == "" {
			return nil, nil
		}
		byName[name] = item
		order = append(order, name)
	}
	return byName, order
}

// nameOf is what a parameter, a group, a version, a resource or a kind is called among its like.
func nameOf(fields map[string]any) string {
	text := func(name string) string { s, _ := fields[name].(string); return s }
	if meta, ok := fields["metadata"].(map[string]any); ok {
		name, _ := meta["name"].(string)
		return cmp.Or(name, "core")
	}
	if text("kind") != "" && text("version") != "" && text("name") == "" {
		return strings.Join([]string{text("group"), text("version"), text("kind")}, "/")
	}
	return cmp.Or(text("name"), text("subresource"), text("resource"), text("groupVersion"), text("version"), text("$ref"))
}

// count is the number of values in a tree.
func count(tree any) int {
	n := 0
	switch is := tree.(type) {
	case map[string]any:
		for _, value := range is {
			n += count(value)
		}
	case []any:
		for _, value := range is {
			n += count(value)
		}
	default:
		return 1
	}
	return n
}
