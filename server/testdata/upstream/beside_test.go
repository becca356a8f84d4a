package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kx-apiserver/kx/server/internal/wiretest/survey"
)

// TestBeside lets kx and a kube-apiserver, whose binary the environment names, write by turns to objects of every resource in
// one etcd:
//
//	KUBE_APISERVER=/tmp/kube-apiserver go test -run TestBeside -only apps,core/pods
//
// Each reads what the other has created or changed, and puts it back as it is. A server writes nothing then if it would have
// stored the same bytes; so neither may write where the one that wrote last does not. Questions, which nobody stores, are left out.
//
// All groups take two minutes on two cores.
func TestBeside(t *testing.T) {
	binary := os.Getenv("KUBE_APISERVER")
	if binary == "" {
		t.Skip("KUBE_APISERVER does not name the binary of a kube-apiserver")
	}
	etcd := startEtcd(t)
	// Those that hold on to objects, or need others, are off on top of those that decide.
	plugins := strings.Join(append([]string{"NamespaceLifecycle"}, survey.Deciding...), ",")
	url, client := startKubeOn(t, binary, etcd, "--disable-admission-plugins="+plugins, "--runtime-config=api/beta=true", "--allow-privileged")
	kube := &party{"kube-apiserver", survey.Server{URL: url, Client: client}}
	kx := &party{"kx", startKx(t, etcd, plugins)}
	dir := filepath.Join("..", "survey", "objects")
	sources, err := survey.Sources(dir, ".yaml")
	must(t, err)
	for _, source := range sources {
		if !source.Matches(*only) {
			continue
		}
		t.Run(source.String(), func(t *testing.T) {
			documents, err := survey.Load(dir, source)
			must(t, err)
			if found, err := kube.Find(t.Context(), documents.Objects[0], source.Resource); err != nil || found != nil && !found.Stored {
				must(t, err)
				t.Skip("nobody stores them")
			}
			for _, object := range documents.Before {
				_, _ = kube.create(t, object, "")
			}
			for _, object := range documents.Objects {
				beside(t, kube, kx, object, source.Resource)
				beside(t, kx, kube, object, source.Resource)
			}
		})
	}
}

// startKx builds kx and runs it without these plugins.
func startKx(t *testing.T, etcd, plugins string) survey.Server {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "kx")
	build := exec.Command("go", "build", "-o", binary, "./cmd/kx")
	build.Dir = filepath.Join("..", "..", "..")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	address := "127.0.0.1:" + freePort(t)
	client := administrator()
	run(t, exec.Command(binary, "serve", "--data-dir", filepath.Join(dir, "data"), "--etcd-servers", etcd, "--listen", address,
		"--token-auth-file", tokenFile(t), "--runtime-config", "api/beta=true", "--initial-objects=false", "--disable-admission-plugins", plugins), "https://"+address, client)
	return survey.Server{URL: "https://" + address, Client: client}
}

// party is one of the two servers.
type party struct {
	name string
	survey.Server
}

// do returns the answer, which is empty unless it is JSON, and its code.
func (p *party) do(t *testing.T, method, path, contentType string, body any) (map[string]any, int) {
	t.Helper()
	data, err := json.Marshal(body)
	must(t, err)
	req, err := http.NewRequestWithContext(t.Context(), method, p.URL+path, bytes.NewReader(data))
	must(t, err)
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "beside")
	res, err := p.Client.Do(req)
	must(t, err)
	defer func() { _ = res.Body.Close() }()
	said, err := io.ReadAll(res.Body)
	must(t, err)
	answer := map[string]any{}
	_ = json.Unmarshal(said, &answer)
	return answer, res.StatusCode
}

// create returns the path of the collection too, which is empty if the server does not have the resource.
func (p *party) create(t *testing.T, object any, resource string) (path string, made map[string]any) {
	t.Helper()
	found, err := p.Find(t.Context(), object, resource)
	must(t, err)
	if found == nil {
		t.Errorf("%s does not have the resource of %v", p.name, object)
		return "", nil
	}
	made, code := p.do(t, http.MethodPost, found.Path, "application/json", object)
	if code != http.StatusCreated {
		return found.Path, map[string]any{"refused": made["message"]}
	}
	return found.Path, made
}

// rewrites puts an object back as it is read, and says whether that wrote something. A controller may write between the two: then
// it is read again.
func (p *party) rewrites(t *testing.T, path string) string {
	t.Helper()
	const tries = 5
	var was, is map[string]any
	code := http.StatusConflict
	for try := 0; try < tries && code == http.StatusConflict; try++ {
		was, _ = p.do(t, http.MethodGet, path, "application/json", nil)
		is, code = p.do(t, http.MethodPut, path, "application/json", was)
	}
	switch {
	case code != http.StatusOK:
		return fmt.Sprint("is refused: ", is["message"])
	case revision(was) != revision(is):
		return "writes"
	}
	return "writes nothing"
}

func revision(object map[string]any) string {
	return (&unstructured.Unstructured{Object: object}).GetResourceVersion()
}

// beside lets the first create an object, and both change it.
func beside(t *testing.T, first, second *party, object any, resource string) {
	t.Helper()
	collection, made := first.create(t, object, resource)
	if collection == "" {
		return
	}
	if made["refused"] != nil {
		if _, other := second.create(t, object, resource); !reflect.DeepEqual(made, other) {
			t.Errorf("%s: %v, %s: %v", first.name, made["refused"], second.name, other)
		}
		return
	}
	path := collection + "/" + (&unstructured.Unstructured{Object: made}).GetName()
	defer first.remove(t, path)
	agree(t, first, second, path)
	label := map[string]any{"metadata": map[string]any{"labels": map[string]any{"beside": "x"}}}
	if said, code := second.do(t, http.MethodPatch, path, "application/merge-patch+json", label); code != http.StatusOK {
		own, same := first.do(t, http.MethodPatch, path, "application/merge-patch+json", label)
		if same != code || !reflect.DeepEqual(own, said) {
			t.Errorf("%s: %s: %v, %s: %v", path, first.name, own, second.name, said)
		}
	}
	agree(t, second, first, path)
}

// agree looks whether the second reads what the first wrote, and leaves it so.
func agree(t *testing.T, first, second *party, path string) {
	t.Helper()
	first.rewrites(t, path) // makes what else the first one changes when an object is put
	own, other := first.rewrites(t, path), second.rewrites(t, path)
	if own != other {
		t.Errorf("%s, written by %s, which when it puts it back %s: %s %s", path, first.name, own, second.name, other)
	}
	a, _ := first.do(t, http.MethodGet, path, "application/json", nil)
	b, _ := second.do(t, http.MethodGet, path, "application/json", nil)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s is for %s\n%v\nand for %s\n%v", path, first.name, a, second.name, b)
	}
}

// remove deletes an object for good.
func (p *party) remove(t *testing.T, path string) {
	t.Helper()
	if strings.HasPrefix(path, "/api/v1/namespaces/") && strings.Count(path, "/") == 4 {
		was, _ := p.do(t, http.MethodGet, path, "application/json", nil)
		was["spec"] = map[string]any{}
		p.do(t, http.MethodPut, path+"/finalize", "application/json", was)
	}
	none := map[string]any{"metadata": map[string]any{"finalizers": nil}}
	for _, now := range []bool{false, true} { // another one comes when some are deleted
		p.do(t, http.MethodPatch, path, "application/merge-patch+json", none)
		p.do(t, http.MethodDelete, path, "application/json", map[string]any{"gracePeriodSeconds": 0})
		if _, code := p.do(t, http.MethodGet, path, "application/json", nil); code == http.StatusNotFound {
			return
		} else if now {
			t.Errorf("%s: %s is there still: %d", p.name, path, code)
		}
	}
}
