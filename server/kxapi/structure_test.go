package kxapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/endpoint"
)

const structureRoot = "/apis/kx.dev/v1alpha1/structure"

// What the source says is found as gofmt writes it.
func TestCode(t *testing.T) {
	c, err := readCode(fstest.MapFS{"core/b/c.go": {Data: []byte(`// Package b is not a declaration.
package b

// REST is generic. It has a
// second line.
//
// And a second paragraph.
//
//go:noinline
type REST[T any] struct{}

// Get gets.
func (r *REST[T]) Get() {}

func (REST[T]) list() {}

type (
	// One is in a group.
	One struct{}
	Two = One
)

var (
	handler = func() {}
	_ fs.FS = nil
)

// Make is generic too.
func Make[T any](a T) {
	var x int
}
`)}, "server/d.go": {Data: []byte("package server\n")}, "store/e.go": {Data: []byte("package store\n")}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, place := range c.byName {
		if place.Name != name || place.File != "core/b/c.go" {
			t.Errorf("%s: %+v", name, place)
		}
		got[strings.TrimPrefix(name, "core/b.")] = place.Doc
	}
	if want := map[string]string{
		"REST": "REST is generic. It has a second line.", "REST.Get": "Get gets.", "REST.list": "", "One": "One is in a group.", "Two": "",
		"handler": "", "Make": "Make is generic too.",
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if line := c.byName["core/b.Make"].Line; line != 29 {
		t.Errorf("Make is in line %d", line)
	}
}

type unreadable struct{ fs.FS }

func (unreadable) Open(string) (fs.File, error) { return nil, fs.ErrPermission }

// Without a chain there are only filters; what is asked for has to be there, and to be possible.
func TestStructureList(t *testing.T) {
	server := newServer(t, trace.NewRecorder("p", trace.DefaultLimits))
	var list v1alpha1.StructureList
	if code, body := get(t, server.URL+structureRoot); code != 200 || json.Unmarshal([]byte(body), &list) != nil || len(list.Items) < 10 {
		t.Errorf("%d %.300s", code, body)
	}
	for query, want := range map[string]struct {
		code int
		text string
	}{
		"/filter:cors": {200, `"upstream":"WithCORS"`},
		"/filter:none": {404, `structure.kx.dev \"filter:none\" not found`},
		"?fieldSelector=metadata.name%3Dfilter:cors": {200, `"filter:cors"`},
		"?fieldSelector=spec.part%3DServer":          {200, `"items":[]`},
		"?fieldSelector=spec.title%3Dx":              {400, "field label not supported: spec.title"},
		"?continue=x":                                {400, "parts of the structure are listed whole"},
		"?resourceVersion=7":                         {400, "parts of the structure have none"},
		"?watch=1":                                   {405, "watch is not supported"},
		"?labelSelector=a":                           {200, `"items":[]`},
		"?fieldSelector=spec.group%3Dx,spec.resource%3Dy,spec.server%3D": {200, `"items":[]`},
	} {
		if code, body := get(t, server.URL+structureRoot+query); code != want.code || !strings.Contains(strings.ToLower(body), strings.ToLower(want.text)) {
			t.Errorf("%s: %d %.300s", query, code, body)
		}
	}
	_, body := get(t, server.URL+structureRoot+"/filter:cors", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	var table metav1.Table
	if err := json.Unmarshal([]byte(body), &table); err != nil || len(table.Rows) != 1 || table.Rows[0].Cells[1] != "Filter" ||
		!strings.HasPrefix(table.Rows[0].Cells[7].(string), "server/filter/cors.go:") {
		t.Errorf("%v: %.500s", err, body)
	}
}

// A chain whose source can't be read says so, and one that is not of this module is shown without its source.
func TestStructureWithoutSource(t *testing.T) {
	r := newStructure(nil, nil, nil, unreadable{}, "", true).resource().storage().(lister)
	if _, err := r.List(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "read the embedded source") {
		t.Errorf("%v", err)
	}
	mux := http.NewServeMux()
	r = newStructure(func() []Server {
		return []Server{{Name: "a", Handler: mux}, {Name: "b", Handler: endpoint.NotFoundHandler}}
	}, nil, nil, sourceTree(t), "", true).resource().storage().(lister)
	obj, err := r.Get(t.Context(), "server:a", nil)
	if err != nil {
		t.Fatal(err)
	}
	part := obj.(*v1alpha1.Structure).DeepCopy()
	if s := part.Spec; s.Source.Name != "net/http.ServeMux" || s.Source.File != "" || s.Server.Delegate != "b" {
		t.Errorf("%+v %+v", s, s.Server)
	}
}

// TestStructureUnread asks for the structure and goes before the source is read.
func TestStructureUnread(t *testing.T) {
	read := make(chan struct{})
	s := &structure{code: func() (*code, error) { <-read; return nil, io.EOF }}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.get(ctx, "chain"); !errors.Is(err, context.Canceled) {
		t.Errorf("who has gone is told %v", err)
	}
	close(read)
	if _, err := s.get(t.Context(), "chain"); !errors.Is(err, io.EOF) {
		t.Errorf("who waits is told %v", err)
	}
}

func BenchmarkStructureFirst(b *testing.B) {
	files := sourceTree(b)
	for b.Loop() {
		if _, err := readCode(files); err != nil {
			b.Fatal(err)
		}
	}
}
