package kxapi

import (
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"sync"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// code finds functions and types in the embedded source. Running code knows its file and line; the source adds its name
// there and the comment above it.
type code struct {
	byName map[string]v1alpha1.CodePlace
	byFile map[string][]v1alpha1.CodePlace // in the order of their lines
}

// These match declarations as gofmt writes them.
var (
	functionLine = regexp.MustCompile(`^func (?:\((?:\w+ )?\*?(\w+)(?:\[[^\]]*\])?\) )?(\w+)[\[(]`)
	declaredLine = regexp.MustCompile(`^(?:type|var) (\w+)`)
	inGroupLine  = regexp.MustCompile(`^\t(\w+) `)
)

func readCode(files fs.FS) (*code, error) {
	c := &code{byName: map[string]v1alpha1.CodePlace{}, byFile: map[string][]v1alpha1.CodePlace{}}
	if err := eachFile(files, func(file string, text []byte) { c.read(file, string(text)) }); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *code) read(file, text string) {
	var doc []string
	inGroup := false
	line := int32(0)
	for one := range strings.Lines(text) {
		one = strings.TrimSuffix(one, "\n")
		line++
		if comment, ok := strings.CutPrefix(strings.TrimLeft(one, "\t"), "//"); ok {
			doc = append(doc, comment)
			continue
		}
		name := ""
		switch { // most lines match no prefix, so the slow patterns are skipped
		case strings.HasPrefix(one, "func "):
			if m := functionLine.FindStringSubmatch(one); m != nil {
				if name = m[2]; m[1] != "" {
					name = m[1] + "." + m[2]
				}
			}
		case one == "type (" || one == "var (":
			inGroup = true
		case strings.HasPrefix(one, "type "), strings.HasPrefix(one, "var "):
			if m := declaredLine.FindStringSubmatch(one); m != nil {
				name = m[1]
			}
		case one == ")":
			inGroup = false
		case inGroup:
			if m := inGroupLine.FindStringSubmatch(one); m != nil {
				name = m[1]
			}
		}
		if name != "" && name != "_" {
			place := v1alpha1.CodePlace{Name: path.Dir(file) + "." + name, File: file, Line: line, Doc: paragraph(doc)}
			c.byName[place.Name] = place
			c.byFile[file] = append(c.byFile[file], place)
		}
		doc = doc[:0]
	}
}

// paragraph returns the first paragraph of a comment, without directives.
func paragraph(doc []string) string {
	var text []string
	for _, line := range doc {
		if line == "" {
			break
		}
		if strings.HasPrefix(line, " ") {
			text = append(text, strings.TrimSpace(line))
		}
	}
	return strings.Join(text, " ")
}

// methodValue removes the parts of a method value's name that names of methods in the source lack.
var methodValue = strings.NewReplacer("(*", "", ")", "", "[...]", "", "-fm", "")

// function returns the place of a running function. A function literal has the name of the function around it.
func (c *code) function(f any) v1alpha1.CodePlace {
	site := trace.SiteOf(f)
	if place, ok := c.byName[methodValue.Replace(site.Function)]; ok {
		return withUpstream(place)
	}
	place := v1alpha1.CodePlace{Name: site.Function, File: site.File, Line: int32(site.Line)}
	known := c.byFile[site.File]
	if i := sort.Search(len(known), func(i int) bool { return known[i].Line > place.Line }); i > 0 {
		place.Name, place.Doc = known[i-1].Name, known[i-1].Doc
	}
	return withUpstream(place)
}

// upstream maps the names of functions, in kx and upstream, to the steps that name them. Types of storages of custom
// resources have the same names as those of built-in ones, so their keys begin with the room.
var upstream = sync.OnceValue(func() map[string]steps.Info {
	all := map[string]steps.Info{}
	for _, id := range steps.All() {
		info := id.Info()
		room := ""
		if strings.HasPrefix(info.Upstream.File, "staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/") {
			room = customResources
		}
		all[room+info.Upstream.Symbol], all[info.Title] = info, info
	}
	return all
})

const customResources = "customresource."

func withUpstream(p v1alpha1.CodePlace) v1alpha1.CodePlace {
	name := path.Base(p.Name)
	if !strings.HasPrefix(name, customResources) {
		_, name, _ = strings.Cut(name, ".")
	}
	if info, ok := upstream()[name]; ok {
		p.Upstream, p.UpstreamFile = info.Upstream.Symbol, info.Upstream.File
	}
	return p
}

// storage returns the place of a storage: of its type or, if it is made from a resource, of the type whose function
// gets the resource.
func (c *code) storage(s rest.Storage) v1alpha1.CodePlace {
	if made, ok := s.(declaration); ok {
		does := c.function(made.function("get")).Name
		if place, ok := c.byName[does[:max(strings.LastIndexByte(does, '.'), 0)]]; ok {
			return place
		}
	}
	return c.typeOf(reflect.TypeOf(s))
}

// placeOf returns the place of a function, or of the type of any other value.
func (c *code) placeOf(does any) v1alpha1.CodePlace {
	if t := reflect.TypeOf(does); t.Kind() != reflect.Func {
		return c.typeOf(t)
	}
	return c.function(does)
}

// typeOf returns the place of a type.
func (c *code) typeOf(t reflect.Type) v1alpha1.CodePlace {
	name := typeName(t)
	if place, ok := c.byName[name]; ok {
		return place
	}
	return v1alpha1.CodePlace{Name: name}
}

// typeName returns the name of a type with its package, without type parameters.
func typeName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	return strings.TrimPrefix(t.PkgPath(), trace.Module) + "." + name
}

// method returns the place of a method of v, which may belong to a type that v embeds.
func (c *code) method(v reflect.Value, name string) *v1alpha1.CodePlace {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if place, ok := c.byName[typeName(v.Type())+"."+name]; ok {
		place = withUpstream(place)
		return &place
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			if place := c.method(v.Field(i), name); place != nil {
				return place
			}
		}
	}
	return nil
}
