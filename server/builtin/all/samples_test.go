package all_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin/all"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
)

var rewrite = flag.Bool("rewrite", false, "write core/request/sample_builtin.yaml anew")

// TestSamplesAreFresh compares the samples of core/request with what the resources declare. go generate writes it.
func TestSamplesAreFresh(t *testing.T) {
	var manifests []string
	for _, group := range all.Groups(all.Needs{}) {
		for _, r := range group.Resources {
			if m := r.Manifest(); m != "" {
				manifests = append(manifests, m)
			}
		}
	}
	const file = "../../../core/request/sample_builtin.yaml"
	declared := strings.Join(manifests, "---\n")
	if *rewrite {
		if err := os.WriteFile(file, []byte(declared), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if there, err := os.ReadFile(file); err != nil || declared != string(there) {
		t.Error("core/request/sample_builtin.yaml is not what the resources declare: go generate ./server/builtin/all")
	}
}

// TestSamplesAreValid creates each sample in etcd, as a handler would after decoding it strictly.
func TestSamplesAreValid(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)
	names := strings.NewReplacer("NAMESPACE", "default", "NAME", "example")
	for _, group := range all.Groups(all.Needs{EventTTL: time.Hour}) {
		for _, r := range group.Resources {
			if r.Manifest() == "" {
				continue
			}
			obj, _, err := strict.UniversalDeserializer().Decode([]byte(names.Replace(r.Manifest())), nil, nil)
			if err != nil {
				t.Errorf("%s: %v", r.Name(), err)
				continue
			}
			if r.StoredIn().Empty() {
				continue // its answer depends on who asks
			}
			if obj, err = scheme.Scheme.ConvertToVersion(obj, r.StoredIn()); err != nil {
				t.Errorf("%s: %v", r.Name(), err)
				continue
			}
			create(t, r.Name(), builtintest.Storages(t, r, etcd)[""], obj)
		}
	}
}

func create(t *testing.T, name string, storage rest.Storage, obj runtime.Object) {
	t.Helper()
	namespace := ""
	if storage.(rest.Scoper).NamespaceScoped() {
		namespace = "default"
	}
	obj.(metav1.Object).SetName("example")
	obj.(metav1.Object).SetNamespace(namespace)
	admin := &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup}} // roles grant what their author has
	ctx := request.WithUser(builtintest.Context(t, namespace), admin)
	if _, err := storage.(rest.Creater).Create(ctx, builtintest.Defaulted(obj), nil, &metav1.CreateOptions{}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
