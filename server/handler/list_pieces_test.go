package handler_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// largeLists is a server of one resource whose lists are large.
type largeLists struct {
	kind
	registry *prometheus.Registry
	url      string
	list     atomic.Pointer[object.List]
}

func startLargeLists(t testing.TB, resource string) *largeLists {
	l := &largeLists{kind: typedConfigMaps(t, runtime.ContentTypeJSON), registry: prometheus.NewRegistry()}
	scope := *l.scope
	scope.Resource.Resource = resource
	scope.Pieces = responsewriters.NewPieces(l.registry)
	lister := fixed{TableConvertor: scope.TableConvertor, list: func(context.Context) (runtime.Object, error) { return l.list.Load(), nil }}
	list := handler.ListResource(lister, nil, &scope, false, time.Hour)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info := &request.RequestInfo{IsResourceRequest: true, Verb: "list", Resource: resource, APIVersion: "v1"}
		list(w, req.WithContext(request.WithRequestInfo(req.Context(), info)))
	}))
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

// set has the list consist of items, at a revision.
func (l *largeLists) set(items []*object.Encoded, revision string) {
	l.list.Store(&object.List{New: l.kind.list.New, ListMeta: metav1.ListMeta{ResourceVersion: revision}, Items: object.ItemsOf(items)})
}

// read lists with Accept-Encoding, "" for that of Go's client, which decompresses by itself.
func (l *largeLists) read(t testing.TB, accept, query, encoding string) (body []byte, compressed bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.url+"/api/v1/things?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	if encoding != "" {
		req.Header.Set("Accept-Encoding", encoding)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s as %s: %s, %v", query, accept, res.Status, err)
	}
	return body, res.Uncompressed || res.Header.Get("Content-Encoding") == "gzip"
}

// compare reads the list in all encodings, and holds them against each other.
func (l *largeLists) compare(t testing.TB, accept, query string) {
	t.Helper()
	want, compressed := l.read(t, accept, query, "identity")
	if compressed {
		t.Fatalf("%s: identity is compressed", accept)
	}
	if got, compressed := l.read(t, accept, query, ""); !compressed || !bytes.Equal(got, want) {
		t.Fatalf("%s?%s: compressed: %t, Go's client read %d bytes, want these %d", accept, query, compressed, len(got), len(want))
	}
	raw, _ := l.read(t, accept, query, "gzip")
	one := bytes.NewReader(raw)
	z, err := gzip.NewReader(one)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, want) || one.Len() > 0 {
		t.Fatalf("%s?%s: the first member of gzip has %d bytes (%v), and %d follow, want %d and none", accept, query, len(got), err, one.Len(), len(want))
	}
	// Cutting it into pieces makes it at most 3 % longer.
	var whole bytes.Buffer
	w := responsewriters.NewZipper(&whole)
	_, _ = w.Write(want)
	_ = w.Close()
	if limit := whole.Len() + whole.Len()*3/100; len(raw) > limit {
		t.Errorf("%s?%s: %d bytes compressed, want %d at most", accept, query, len(raw), limit)
	}
}

// metric returns the sum of a metric, or its value for a label that is not "".
func (l *largeLists) metric(t testing.TB, name, label string) int {
	t.Helper()
	families, err := l.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return int(sum)
}

// largeItem is an object of size bytes that do not repeat. Each character has six bits, so they can be compressed to three
// quarters.
func largeItem(t testing.TB, i, version, size int) *object.Encoded {
	random := rand.NewChaCha8([32]byte{byte(i), byte(i >> 8), byte(version)})
	data := make([]byte, size*3/4)
	_, _ = random.Read(data)
	cm := &corev1.ConfigMap{ObjectMeta: owned(fmt.Sprintf("o-%05d", i)), Data: map[string]string{"k": base64.StdEncoding.EncodeToString(data)}}
	item := stored(t, runtime.ContentTypeJSON, func() runtime.Object { return &corev1.ConfigMap{} }, corev1.SchemeGroupVersion, cm)[0]
	return item.At(int64(1000*version + i + 1))
}

func largeItems(t testing.TB, from, n, size int) (items []*object.Encoded) {
	for i := range n {
		items = append(items, largeItem(t, from+i, 0, size))
	}
	return items
}

// TestGzippedLists reads large lists again and again, before and after objects change, in every form.
func TestGzippedLists(t *testing.T) {
	for _, form := range []struct{ accept, query string }{
		{"application/json", ""},
		{"application/json", "pretty=true"},
		{"application/yaml", ""},
		{"application/vnd.kubernetes.protobuf", ""},
		{"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", ""},
		{"application/json;as=Table;g=meta.k8s.io;v=v1", ""},
		{"application/json;as=Table;g=meta.k8s.io;v=v1", "includeObject=Object"},
	} {
		l := startLargeLists(t, "things")
		items := largeItems(t, 0, 1200, 1<<10)
		l.set(items, "5000")
		for range 3 {
			l.compare(t, form.accept, form.query)
		}
		if l.metric(t, "kx_list_pieces_total", "reused") == 0 || l.metric(t, "kx_list_pieces_bytes", "") == 0 {
			t.Errorf("%s?%s: nothing is reused", form.accept, form.query)
		}
		// One is changed, one is gone, one is there: as many places are compressed anew, the rest is reused.
		const changes = 3
		items[500] = largeItem(t, 500, 1, 1<<10)
		items = append(items[:900:900], items[901:]...)
		items = append(items, largeItem(t, 9999, 0, 1<<10))
		l.set(items, "6000")
		fresh, reused := l.metric(t, "kx_list_pieces_total", "compressed"), l.metric(t, "kx_list_pieces_total", "reused")
		if _, compressed := l.read(t, form.accept, form.query, "gzip"); !compressed {
			t.Fatal("not compressed")
		}
		fresh, reused = l.metric(t, "kx_list_pieces_total", "compressed")-fresh, l.metric(t, "kx_list_pieces_total", "reused")-reused
		if fresh > 2*changes || reused == 0 {
			t.Errorf("%s?%s: after %d changes %d pieces were compressed and %d reused", form.accept, form.query, changes, fresh, reused)
		}
		l.compare(t, form.accept, form.query)
	}
}

// TestGzippedListsKeepLittle: what is read once is not kept, Secrets never are, and all that is kept has a bound.
func TestGzippedListsKeepLittle(t *testing.T) {
	const bound, each, lists = 16 << 20, 1 << 20, 26
	secrets := startLargeLists(t, "secrets")
	secrets.set(largeItems(t, 0, 500, 1<<10), "1")
	for range 3 {
		secrets.compare(t, "application/json", "")
	}
	if kept, sent := secrets.metric(t, "kx_list_pieces_bytes", ""), secrets.metric(t, "kx_list_pieces_total", ""); kept != 0 || sent != 0 {
		t.Errorf("%d bytes of Secrets are kept, %d pieces were sent", kept, sent)
	}

	l := startLargeLists(t, "things")
	most := 0
	for n := range lists {
		l.set(largeItems(t, 100*n, 40, each/40), fmt.Sprint(n+1))
		before := l.metric(t, "kx_list_pieces_bytes", "")
		l.read(t, "application/json", "", "gzip")
		if after := l.metric(t, "kx_list_pieces_bytes", ""); after != before {
			t.Errorf("a list that was read once has %d bytes kept", after-before)
		}
		l.read(t, "application/json", "", "gzip")
		kept := l.metric(t, "kx_list_pieces_bytes", "")
		if kept > bound {
			t.Fatalf("%d bytes are kept, more than %d", kept, bound)
		}
		most = max(most, kept)
	}
	if most < bound*9/10 {
		t.Errorf("only %d bytes were kept, of %d lists", most, lists)
	}
	// The first list was pushed out, the last one was not.
	for _, n := range []int{0, lists - 1} {
		l.set(largeItems(t, 100*n, 40, each/40), fmt.Sprint(100+n))
		reused := l.metric(t, "kx_list_pieces_total", "reused")
		l.read(t, "application/json", "", "gzip")
		if got := l.metric(t, "kx_list_pieces_total", "reused") > reused; got != (n > 0) {
			t.Errorf("list %d is reused: %t", n, got)
		}
		l.compare(t, "application/json", "")
	}
}

// BenchmarkGzippedList lists 5,000 objects: each time others, which nothing is kept of, and the same again and again.
func BenchmarkGzippedList(b *testing.B) {
	l := startLargeLists(b, "things")
	items := largeItems(b, 0, 5000, 1<<9)
	b.Run("identity", func(b *testing.B) {
		l.set(items, "1")
		for b.Loop() {
			l.read(b, "application/json", "", "identity")
		}
	})
	b.Run("kept", func(b *testing.B) {
		l.set(items, "1")
		l.read(b, "application/json", "", "gzip")
		l.read(b, "application/json", "", "gzip")
		for b.Loop() {
			l.read(b, "application/json", "", "gzip")
		}
	})
	b.Run("new", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			next := make([]*object.Encoded, len(items))
			for j, item := range items {
				next[j] = item.At(int64(1_000_000 + i))
			}
			l.set(next, fmt.Sprint(i))
			l.read(b, "application/json", "", "gzip")
		}
	})
}
