package handler

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/kx-apiserver/kx/core/trace"
)

// method is a method of storages. If a storage has several of its names, the first is called. places caches the source
// location of the method for each type of storage.
type method struct {
	names  []string
	places sync.Map // from reflect.Type to string
}

// The methods that handlers call.
var (
	getMethod              = &method{names: []string{"GetEncoded", "Get"}}
	listMethod             = &method{names: []string{"ListEncoded", "List"}}
	watchMethod            = &method{names: []string{"WatchEncoded", "Watch"}}
	createMethod           = &method{names: []string{"Create"}}
	updateMethod           = &method{names: []string{"Update"}}
	deleteMethod           = &method{names: []string{"Delete"}}
	deleteCollectionMethod = &method{names: []string{"DeleteCollection"}}
	connectMethod          = &method{names: []string{"Connect"}}
)

// note adds to step the storage that answers and its function.
func (m *method) note(step *trace.Step, storage any) {
	if !step.Recording() {
		return
	}
	if adapter, ok := storage.(interface{ adapted() any }); ok {
		storage = adapter.adapted()
	}
	t := reflect.TypeOf(storage)
	place, ok := m.places.Load(t)
	if !ok {
		place, _ = m.places.LoadOrStore(t, m.placeIn(t))
	}
	step.Text("storage", place.(string))
}

// placeIn returns, for example, "builtin.REST: registry.(*Store).GetEncoded, store/registry/get.go:28" for a type that
// embeds Store.
func (m *method) placeIn(t reflect.Type) string {
	name := typeName(t)
	for _, method := range m.names {
		if site := trace.MethodOf(t, method); site.File != "" {
			return fmt.Sprintf("%s: %s, %s:%d", name, site.Function[strings.LastIndexByte(site.Function, '/')+1:], site.File, site.Line)
		}
	}
	return name
}

// typeName returns the name of a type with its package, without type parameters.
func typeName(t reflect.Type) string {
	name, _, _ := strings.Cut(strings.TrimLeft(t.String(), "*"), "[")
	return name
}
