package openapi

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// kindExtension names the kinds of a definition or an operation.
const kindExtension = "x-kubernetes-group-version-kind"

// The prefixes of references to definitions, in v3 and v2.
const (
	v3Reference = "#/components/schemas/"
	v2Reference = "#/definitions/"
)

// These definitions are used by name.
const (
	definitionAPIGroup        = metaDefinitions + "APIGroup"
	definitionAPIGroupList    = metaDefinitions + "APIGroupList"
	definitionAPIResourceList = metaDefinitions + "APIResourceList"
	definitionAPIVersions     = metaDefinitions + "APIVersions"
	definitionDeleteOptions   = metaDefinitions + "DeleteOptions"
	definitionPatch           = metaDefinitions + "Patch"
	definitionStatus          = metaDefinitions + "Status"
	definitionString          = "string"
	definitionWatchEvent      = metaDefinitions + "WatchEvent"
	definitionVersion         = "io.k8s.apimachinery.pkg.version.Info"

	metaDefinitions = "io.k8s.apimachinery.pkg.apis.meta.v1."
)

// text is a string, so that the binary contains the file only once: package server embeds it, too, as a part of the
// source.
//
//go:embed definitions.txt
var text string

// embedded is text as bytes, without a copy. It must not be written to.
var embedded = unsafe.Slice(unsafe.StringData(text), len(text))

// definition is a line of the embedded file, which internal/gen writes. It points into the binary and must not be
// changed.
type definition struct {
	// member is the definition in a document of OpenAPI v3: its name in quotes, a colon, its schema.
	member []byte
	kinds  string
	// dependencies names the definitions that it refers to.
	dependencies []string
	// v2Schema, if not empty, replaces the schema in OpenAPI v2, which has no oneOf.
	v2Schema []byte
}

var lines = sync.OnceValue(func() [][]byte { return bytes.Split(bytes.TrimSuffix(embedded, []byte("\n")), []byte("\n")) })

// lookup finds a built-in definition. It parses nothing and caches nothing.
func lookup(name string) (definition, bool) {
	wanted := []byte(name)
	i, found := slices.BinarySearchFunc(lines(), wanted, func(line, wanted []byte) int { return bytes.Compare(nameOf(line), wanted) })
	if !found {
		return definition{}, false
	}
	columns := bytes.SplitN(lines()[i], []byte("\t"), 4)
	return definition{member: columns[0], kinds: string(columns[1]), dependencies: strings.Fields(string(columns[2])),
		v2Schema: columns[3]}, true
}

// nameOf returns the text between the first two quotes.
func nameOf(line []byte) []byte {
	name, _, _ := bytes.Cut(line[1:], []byte(`"`))
	return name
}

// Has reports whether a built-in definition has that name.
func Has(name string) bool {
	_, found := lookup(name)
	return found
}

// HasKind reports whether a built-in definition describes the kind.
func HasKind(gvk schema.GroupVersionKind) bool {
	_, found := namesByKind()[gvk]
	return found
}

// Definitions returns built-in definitions in OpenAPI v3, with all definitions that they refer to, by name, for a type
// converter of managed fields. They are parsed anew and belong to the caller. Unknown names are omitted.
func Definitions(names ...string) map[string]*spec.Schema {
	schemas := map[string]*spec.Schema{}
	walk(names, func(name string) bool { return schemas[name] != nil }, func(name string, d definition) { schemas[name] = d.v3() })
	return schemas
}

// DefinitionsOfKind returns the built-in definition of a kind, with all definitions that it refers to.
func DefinitionsOfKind(gvk schema.GroupVersionKind) map[string]*spec.Schema {
	return Definitions(namesByKind()[gvk])
}

// walk visits the named built-in definitions and those that they refer to, except those that visited reports.
func walk(names []string, visited func(string) bool, visit func(string, definition)) {
	for _, name := range names {
		if visited(name) {
			continue
		}
		if d, found := lookup(name); found {
			visit(name, d)
			walk(d.dependencies, visited, visit)
		}
	}
}

// v3 parses the definition's schema in OpenAPI v3.
func (d definition) v3() *spec.Schema {
	_, text, _ := bytes.Cut(d.member, []byte(`":`))
	return parse(text)
}

// wrapped matches a reference with siblings. v3 has to wrap it in an allOf; v2 does not.
var wrapped = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"allOf":\[\{("\$ref":"[^"]*")\}\]`)
})

// v2 parses the definition's schema in OpenAPI v2.
func (d definition) v2() *spec.Schema {
	if len(d.v2Schema) > 0 {
		return parse(d.v2Schema)
	}
	_, text, _ := bytes.Cut(d.member, []byte(`":`))
	text = wrapped().ReplaceAll(text, []byte("$1"))
	return parse(bytes.ReplaceAll(text, []byte(`"$ref":"`+v3Reference), []byte(`"$ref":"`+v2Reference)))
}

// parse panics on an error, because the generator has checked the text.
func parse(text []byte) *spec.Schema {
	s := &spec.Schema{}
	if err := s.UnmarshalJSON(text); err != nil {
		panic(fmt.Sprintf("openapi: parse an embedded definition: %v", err))
	}
	return s
}

// namesByKind maps a kind to the name of its definition.
var namesByKind = sync.OnceValue(func() map[schema.GroupVersionKind]string {
	names := map[schema.GroupVersionKind]string{}
	for _, line := range lines() {
		name := string(nameOf(line))
		d, _ := lookup(name)
		for kind := range strings.FieldsSeq(d.kinds) {
			part := strings.Split(kind, "/")
			names[schema.GroupVersionKind{Group: part[0], Version: part[1], Kind: part[2]}] = name
		}
	}
	return names
})

// everywhere lists the definitions of kinds that every group version has.
var everywhere = map[string]string{definitionDeleteOptions: "DeleteOptions", definitionWatchEvent: "WatchEvent"}

// kindInEach lists a kind for the core group and for each of gvs, in order.
func kindInEach(kind string, gvs []schema.GroupVersion) []any {
	all := slices.Concat([]schema.GroupVersion{{Version: "v1"}}, gvs)
	slices.SortFunc(all, compareGroupVersions)
	list := make([]any, 0, len(all))
	for _, gv := range slices.Compact(all) {
		list = append(list, map[string]any{"group": gv.Group, "version": gv.Version, "kind": kind})
	}
	return list
}
