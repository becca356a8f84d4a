package survey

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/crd/definition"
)

// Limit is how many cases a resource has at most.
const Limit = 6000

// separations are how many changes outside the status are tried by way of the status.
const separations = 8

func keysOf(object map[string]any) iter.Seq[string] { return maps.Keys(object) }

// gvk is the kind that an object says it is of.
func gvk(object any) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(text(object, "apiVersion"), text(object, "kind"))
}

// typeOf is the Go type of an object, by what it says it is.
func typeOf(object any) (reflect.Type, error) {
	types := scheme.Scheme
	if gvk(object).Group == apiextensions.GroupName {
		types = definition.Scheme
	}
	obj, err := types.New(gvk(object))
	if err != nil {
		return nil, err
	}
	return reflect.TypeOf(obj).Elem(), nil
}

// Changes makes the cases of the objects of a source, whose resource is as discovery says.
func Changes(s Source, objects []any, resource Resource) ([]Case, error) {
	types := make([]reflect.Type, len(objects))
	versions := map[string]bool{}
	var whole, cases []Case
	for i, object := range objects {
		t, err := typeOf(object)
		if err != nil {
			return nil, err
		}
		types[i] = t
		version := text(object, "apiVersion")
		b := breaker{wholeTemplate: s.Group == "", wholeMetadata: !versions[version]}
		versions[version] = true
		b.breakObject(t, object)
		for _, via := range resource.Ways() {
			whole = append(whole, Case{Doc: i, Via: via})
			cases = append(cases, b.cases(i, via, resource.HasStatus)...)
		}
	}
	return slices.Concat(whole, sample(types, cases, Limit-len(whole))), nil
}

// cases are the changes that make sense in a way. The status is not to be had but by its own.
func (b *breaker) cases(object int, via Via, hasStatus bool) []Case {
	var status, inside, outside []Case
	for _, c := range b.changes {
		at := Case{Doc: object, Via: via, Kind: c.kind, At: c.at, To: c.to}
		if hasStatus && c.at == "/status" {
			status = append(status, at)
		} else if hasStatus && strings.HasPrefix(c.at, "/status/") {
			inside = append(inside, at)
		} else if c.at != "/metadata/name" || via == Create {
			outside = append(outside, at)
		}
	}
	switch via {
	case Create:
		return outside
	case Update:
		return append(outside, status...)
	case Status:
		byHash(outside)
		return slices.Concat(status, inside, outside[:min(len(outside), separations)])
	}
	return nil
}

func byHash(cases []Case) {
	slices.SortStableFunc(cases, func(a, b Case) int { return cmp.Compare(a.hash("sample"), b.hash("sample")) })
}

// sample picks at most n cases: first one of each kind of change of each field and way, then whichever.
func sample(types []reflect.Type, cases []Case, n int) []Case {
	if len(cases) <= n {
		return cases
	}
	shuffled := slices.Clone(cases)
	byHash(shuffled)
	var first, rest []Case
	seen := map[string]bool{}
	for _, c := range shuffled {
		t := types[c.Doc]
		if key := fmt.Sprint(t, c.Via, c.Kind, pattern(t, c.At)); seen[key] {
			rest = append(rest, c)
		} else {
			seen[key] = true
			first = append(first, c)
		}
	}
	picked := append(first, rest...)[:n]
	slices.SortStableFunc(picked, func(a, b Case) int {
		return cmp.Or(cmp.Compare(a.Doc, b.Doc), strings.Compare(string(a.Via), string(b.Via)), strings.Compare(a.At, b.At))
	})
	return picked
}
