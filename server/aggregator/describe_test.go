package aggregator_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// library is a server that has pages by their path, which change, and counts how often each is read.
type library struct {
	mu    sync.Mutex
	pages map[string]string
	reads map[string]int
}

func (l *library) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads[r.URL.Path]++
	page, ok := l.pages[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, page)
}

// put adds pages. An empty one is taken away.
func (l *library) put(pages map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.pages, pages)
	maps.DeleteFunc(l.pages, func(_, page string) bool { return page == "" })
}

func (l *library) readsOf(path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads[path]
}

// touch changes a label of the API service, after which its server is checked at once.
func (s stage) touch(value string) {
	s.T.Helper()
	body := fmt.Appendf(nil, `{"metadata":{"labels":{"touched":%q}}}`, value)
	err := s.RESTClient().Patch(types.MergePatchType).AbsPath("/apis/apiregistration.k8s.io/v1/apiservices/v1." + s.group()).Body(body).Do(s.T.Context()).Error()
	if err != nil {
		s.T.Fatal(err)
	}
}

var words = regexp.MustCompile(`words of \w+`)

// openAPI is what both documents have of a sentence that descriptions of this test begin with.
func openAPI(s *controllertest.Stage) (lines []string) {
	s.T.Helper()
	for _, path := range []string{"/openapi/v2", "/openapi/v3/apis/" + s.Namespace + ".example.com/v1"} {
		body, err := s.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(s.T.Context())
		lines = append(lines, fmt.Sprintf("%.11s: %s %v", path, words.Find(body), err))
	}
	return lines
}

// TestOpenAPI: a server may have OpenAPI of one version, and may gain and lose it.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	clients := serve(t)
	const old, index = "words of old", "/openapi/v3"
	start := func(t *testing.T, name string) (s stage, l *library, root, at string) {
		s = create(t, clients, name, openAPI)
		root = "/apis/" + s.group() + "/v1"
		l = &library{reads: map[string]int{}, pages: map[string]string{
			root: fmt.Sprintf(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"%s/v1","resources":[{"name":"things","kind":"Thing","verbs":["list"]}]}`, s.group()),
		}}
		s.serve(l.ServeHTTP, nil)
		return s, l, root, index + root
	}
	document := func(version, root, words string) string {
		return fmt.Sprintf(`{%s,"info":{"title":"far","version":"1"},"paths":{"%s/things":{"get":{"description":%q,"responses":{"200":{"description":"OK"}}}}}}`, version, root, words)
	}
	v2 := func(root, words string) string { return document(`"swagger":"2.0"`, root, words) }
	v3 := func(root, words string) string { return document(`"openapi":"3.0.0"`, root, words) }
	listing := func(root, at string) string {
		return fmt.Sprintf(`{"paths":{%q:{"serverRelativeURL":%q}}}`, root[1:], at)
	}

	t.Run("v3", func(t *testing.T) {
		t.Parallel()
		s, l, root, at := start(t, "three")
		l.put(map[string]string{index: listing(root, at+"?hash=1"), at: v3(root, old)})
		s.touch("begin")
		s.AwaitPart("/openapi/v3: " + old)
		for _, value := range []string{"once", "twice"} { // when it has begun again, it has done what comes after the first time
			before := l.readsOf(index)
			again := &controllertest.Scenes{State: func(*controllertest.Stage) []string {
				return []string{fmt.Sprint("read again: ", l.readsOf(index) > before)}
			}}
			s.touch(value)
			again.Stage(t, clients, s.Namespace).AwaitPart("read again: true")
		}
		if n := l.readsOf(at); n != 1 {
			t.Errorf("what has not changed is read %d times", n)
		}
		l.put(map[string]string{index: "", at: ""})
		s.touch("end")
		s.AwaitPart("/openapi/v3:  the server could not find")
	})
	t.Run("v3 without hashes", func(t *testing.T) {
		t.Parallel()
		s, l, root, at := start(t, "hashless")
		l.put(map[string]string{index: listing(root, at), at: v3(root, old)})
		s.touch("begin")
		s.AwaitPart("/openapi/v3: " + old)
		l.put(map[string]string{at: v3(root, "words of today")})
		s.touch("new")
		s.AwaitPart("/openapi/v3: words of today")
	})
	t.Run("v2", func(t *testing.T) {
		t.Parallel()
		s, l, root, at := start(t, "two")
		l.put(map[string]string{"/openapi/v2": v2(root, "words of two")})
		s.touch("begin")
		s.AwaitPart("/openapi/v2: words of two")
		s.AwaitPart("/openapi/v3: words of two") // made of it, as a kube-apiserver does
		l.put(map[string]string{index: listing(root, at+"?hash=1"), at: v3(root, "words of three")})
		s.touch("both")
		s.AwaitPart("/openapi/v3: words of three")
		s.AwaitPart("/openapi/v2: words of two")
	})
}
