package kxapi

import (
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

const sourcesRoot = "/apis/kx.dev/v1alpha1/sources"

// sourceTree is the source without its tests, as a binary carries it.
func sourceTree(t testing.TB) fs.FS {
	t.Helper()
	tree := fstest.MapFS{}
	for _, room := range []string{"core", "server", "store"} {
		err := fs.WalkDir(os.DirFS("../.."), room, func(file string, d fs.DirEntry, err error) error {
			if d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if err != nil || path.Ext(file) != ".go" || strings.HasSuffix(file, "test.go") {
				return err
			}
			text, err := os.ReadFile("../../" + file)
			tree[file] = &fstest.MapFile{Data: text}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func listSources(t *testing.T, url string) []string {
	t.Helper()
	code, body := get(t, url)
	var list v1alpha1.SourceList
	if err := json.Unmarshal([]byte(body), &list); err != nil || code != 200 {
		t.Fatalf("%s: %d %v: %.200s", url, code, err, body)
	}
	var names []string
	for _, s := range list.Items {
		if s.Spec.Text != "" || s.Spec.Lines == 0 {
			t.Errorf("%s is listed with %d bytes of text and %d lines", s.Name, len(s.Spec.Text), s.Spec.Lines)
		}
		names = append(names, s.Name)
	}
	return names
}

// The source of a step is found by what its journey says of it, and is what lies in this checkout.
func TestSourceOfAStep(t *testing.T) {
	r := trace.NewRecorder("p", trace.DefaultLimits)
	server := newServer(t, r)
	travel(r, "get", "a", 200)
	var j v1alpha1.Journey
	if _, body := get(t, server.URL+root+"/p-1"); json.Unmarshal([]byte(body), &j) != nil || len(j.Status.Steps) != 1 {
		t.Fatal(body)
	}
	// The step was taken by this package's test, which is not in the binary: the storage's own file stands for it.
	step := &j.Status.Steps[0]
	if !strings.HasPrefix(step.File, "server/kxapi/") {
		t.Fatalf("the step's file is %s", step.File)
	}
	if code, body := get(t, server.URL+sourcesRoot+"/"+v1alpha1.SourceName(step.File)); code != 404 || !strings.Contains(body, `sources.kx.dev \"server.kxapi.kxapi_test.go\" not found`) {
		t.Errorf("a test is served: %d %.300s", code, body)
	}
	var source v1alpha1.Source
	code, body := get(t, server.URL+sourcesRoot+"/"+v1alpha1.SourceName("server/kxapi/sources.go"))
	if err := json.Unmarshal([]byte(body), &source); err != nil || code != 200 {
		t.Fatalf("%d %v: %.300s", code, err, body)
	}
	text, err := os.ReadFile("sources.go")
	if err != nil || source.Spec.Text != string(text) {
		t.Errorf("%v: the text is not the file's: %d bytes", err, len(source.Spec.Text))
	}
	if s := source.Spec; s.Package != "server/kxapi" || s.File != "server/kxapi/sources.go" || int(s.Lines) != strings.Count(string(text), "\n") {
		t.Errorf("%s of %s, %d lines", s.File, s.Package, s.Lines)
	}
}

func TestListSources(t *testing.T) {
	server := newServer(t, trace.NewRecorder("p", trace.DefaultLimits))
	all := listSources(t, server.URL+sourcesRoot)
	if slices.Sort(all); len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Error("two files have one name")
	}
	for _, name := range []string{"store.etcd3.update.go", "server.chain.go", "core.steps.steps.go", "server.crd.handler.go"} {
		if !slices.Contains(all, name) {
			t.Errorf("%s is not listed", name)
		}
	}
	for selector, want := range map[string]string{
		"spec.file=store/etcd3/update.go":     "store.etcd3.update.go",
		"metadata.name=server.chain.go":       "server.chain.go",
		"spec.package=server/version":         "server.version.version.go",
		"spec.package=none":                   "",
		"spec.file!=a,metadata.name=b":        "",
		"spec.package=server,spec.file=x":     "",
		"spec.package!=,spec.file=core/x/y.z": "",
	} {
		if got := strings.Join(listSources(t, server.URL+sourcesRoot+"?fieldSelector="+url.QueryEscape(selector)), " "); got != want {
			t.Errorf("%s: %s, want %s", selector, got, want)
		}
	}
	if got := listSources(t, server.URL+sourcesRoot+"?labelSelector=a"); len(got) != 0 {
		t.Errorf("%v have labels", got)
	}
	for query, want := range map[string]string{
		"fieldSelector=spec.text=x": "field label not supported: spec.text",
		"continue=x":                "sources are listed whole",
		"resourceVersion=5":         "sources have none",
	} {
		if code, body := get(t, server.URL+sourcesRoot+"?"+query); code != 400 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.300s", query, code, body)
		}
	}
	if code, _ := get(t, server.URL+sourcesRoot+"?watch=1"); code != 405 {
		t.Errorf("a watch of what never changes: %d", code)
	}
}

func TestSourceTable(t *testing.T) {
	server := newServer(t, trace.NewRecorder("p", trace.DefaultLimits))
	_, body := get(t, server.URL+sourcesRoot+"/server.version.version.go", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	var table metav1.Table
	if err := json.Unmarshal([]byte(body), &table); err != nil || len(table.Rows) != 1 {
		t.Fatalf("%v: %.300s", err, body)
	}
	if cells := table.Rows[0].Cells; cells[0] != "server.version.version.go" || cells[1] != "server/version" || cells[2] != "version.go" {
		t.Errorf("cells %v", cells)
	}
}
