package server_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestGzippedListsAreReused reads a large list of custom resources compressed, again and again and after an object has changed. It
// is what the list is without compression, and /metrics counts what was reused.
func TestGzippedListsAreReused(t *testing.T) {
	t.Parallel()
	r, ctx := start(t), within(t)
	const group, objects = "pieces.example.com", 12
	gv := schema.GroupVersion{Group: group, Version: "v1"}
	r.define(t, cronTab(group))
	tabs := r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default")
	var last *unstructured.Unstructured
	for i := range objects {
		obj := tab(gv, "default", fmt.Sprintf("o-%d", i))
		obj.SetAnnotations(map[string]string{"text": strings.Repeat(fmt.Sprint(i, " "), 8<<10)})
		var err error
		last, err = tabs.Create(ctx, obj, metav1.CreateOptions{})
		must(t, err)
	}
	client, url := r.httpClient(t), r.URL+"/apis/"+group+"/v1/namespaces/default/crontabs"
	read := func(encoding string) []byte {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		must(t, err)
		req.Header.Set("Accept-Encoding", encoding)
		res, err := client.Do(req)
		must(t, err)
		defer res.Body.Close()
		body := io.Reader(res.Body)
		if encoding == "gzip" {
			body, err = gzip.NewReader(body)
			must(t, err)
		}
		data, err := io.ReadAll(body)
		must(t, err)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", res.Status, data)
		}
		return data
	}
	compare := func() {
		t.Helper()
		for range 3 {
			if want, got := read("identity"), read("gzip"); !bytes.Equal(got, want) {
				t.Fatalf("%d bytes came compressed, want these %d", len(got), len(want))
			}
		}
	}
	compare()
	last.SetLabels(map[string]string{"changed": "yes"})
	_, err := tabs.Update(ctx, last, metav1.UpdateOptions{})
	must(t, err)
	if !bytes.Contains(read("gzip"), []byte(`"changed":"yes"`)) {
		t.Error("the change is not in the list")
	}
	compare()
	_, metrics := ask(t, client, "GET", r.URL+"/metrics", nil)
	for _, name := range []string{`kx_list_pieces_total{source="reused"} `, `kx_list_pieces_total{source="compressed"} `, `kx_list_pieces_bytes `} {
		_, value, there := strings.Cut(string(metrics), "\n"+name)
		if !there || strings.HasPrefix(value, "0") {
			t.Errorf("%sis %.9s", name, value)
		}
	}
}
