package backend_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

func TestResourcePrefix(t *testing.T) {
	for resource, want := range map[string]string{
		"configmaps":                             "configmaps",
		"replicationcontrollers":                 "controllers",
		"endpoints":                              "services/endpoints",
		"services":                               "services/specs",
		"nodes":                                  "minions",
		"events":                                 "events",
		"events.events.k8s.io":                   "events",
		"deployments.apps":                       "deployments",
		"ingresses.networking.k8s.io":            "ingress",
		"networkpolicies.networking.k8s.io":      "networkpolicies",
		"clusterroles.rbac.authorization.k8s.io": "clusterroles",
		"customresourcedefinitions.apiextensions.k8s.io": "apiextensions.k8s.io/customresourcedefinitions",
		"apiservices.apiregistration.k8s.io":             "apiregistration.k8s.io/apiservices",
		"pandas.example.com":                             "example.com/pandas",
		"ranges":                                         "ranges",
		"foos.networking.k8s.io":                         "networking.k8s.io/foos", // a custom resource in a group of Kubernetes
		"pods.storage.k8s.io":                            "storage.k8s.io/pods",
		"volumesnapshots.snapshot.storage.k8s.io":        "snapshot.storage.k8s.io/volumesnapshots",
	} {
		if got := backend.ResourcePrefix(schema.ParseGroupResource(resource)); got != want {
			t.Errorf("%s is stored below %s, want %s", resource, got, want)
		}
	}
}

func TestParseWatchCacheSizes(t *testing.T) {
	got, err := backend.ParseWatchCacheSizes([]string{"pods#100", "deployments.apps#0", "pandas.example.com#7"})
	want := map[schema.GroupResource]int{
		{Resource: "pods"}: 100, {Group: "apps", Resource: "deployments"}: 0, {Group: "example.com", Resource: "pandas"}: 7,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for value, want := range map[string]string{
		"pods":     "invalid value of watch cache size: pods",
		"pods#1#2": "invalid value of watch cache size: pods#1#2",
		"pods#x":   "invalid size of watch cache size: pods#x",
		"pods#":    "invalid size of watch cache size: pods#",
		"pods#-1":  "watch cache size cannot be negative: pods#-1",
	} {
		if _, err := backend.ParseWatchCacheSizes([]string{value}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", value, err, want)
		}
	}
}

func TestValidate(t *testing.T) {
	var o backend.EtcdOptions
	o.StorageConfig.Type = "mongo"
	o.StorageConfig.Transport.CertFile = "cert.pem"
	o.WatchCacheSizes = []string{"pods#-1"}
	got := errors.Join(o.Validate()...).Error()
	for _, want := range []string{"--etcd-servers must be specified", "--storage-backend invalid, allowed values: etcd3",
		"--etcd-certfile and --etcd-keyfile", "--watch-cache-sizes: watch cache size cannot be negative"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	fine := backend.NewEtcdOptions(factory.NewDefaultConfig("/registry", nil))
	fine.StorageConfig.Transport.ServerList = []string{"http://127.0.0.1:2379"}
	if errs := fine.Validate(); len(errs) > 0 {
		t.Error(errs)
	}
}

func options(t *testing.T) *backend.EtcdOptions {
	t.Helper()
	o := backend.NewEtcdOptions(factory.NewDefaultConfig(embedtest.Prefix(), nil))
	o.StorageConfig.Transport.InProcess = embedtest.Shared(t)
	return o
}

func codecOf(resource schema.GroupResource) (runtime.Codec, error) {
	if resource.Group != "" {
		return nil, errors.New("no such group")
	}
	return serializer.NewCodecFactory(clientscheme.Scheme).LegacyCodec(corev1.SchemeGroupVersion), nil
}

func getter(t *testing.T, o *backend.EtcdOptions) *backend.SimpleRestOptionsFactory {
	t.Helper()
	f, err := backend.NewSimpleRestOptionsFactory(*o, codecOf)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestOnDisk follows secrets and events from the options to etcd.
func TestOnDisk(t *testing.T) {
	o := options(t)
	o.EncryptionProviderConfigFilepath = "testdata/encryption.yaml"
	f := getter(t, o)
	client := embedtest.Shared(t).Client()
	defer func() { _ = client.Close() }()
	for _, c := range []struct {
		resource schema.GroupResource
		obj      runtime.Object
		key      string
		onDisk   string
		value    string
	}{
		{schema.GroupResource{Resource: "secrets"}, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			"/secrets/default/a", "/secrets/default/a", "k8s:enc:secretbox:v1:one:"},
		{schema.GroupResource{Resource: "services"}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			"/services/specs/default/a", "/services/specs/default/a", `{"kind":"Service"`},
		{schema.GroupResource{Group: "events.k8s.io", Resource: "events"}, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			"/events/default/a", "/events/default/a", "k8s:enc:aesgcm:v1:two:"},
	} {
		rest, err := f.GetRESTOptions(c.resource, nil)
		if err != nil {
			t.Fatal(err)
		}
		newFunc := func() runtime.Object { return reflect.New(reflect.TypeOf(c.obj).Elem()).Interface().(runtime.Object) }
		s, destroy, err := rest.Decorator(rest.StorageConfig, "/"+rest.ResourcePrefix, newFunc, newFunc,
			store.DefaultNamespaceScopedAttr, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer destroy()
		if err := s.Create(t.Context(), c.key, c.obj, nil, 0); err != nil {
			t.Fatal(err)
		}
		got, err := client.Get(t.Context(), o.StorageConfig.Prefix+c.onDisk)
		if err != nil || len(got.Kvs) != 1 || !strings.HasPrefix(string(got.Kvs[0].Value), c.value) {
			t.Errorf("%s: %v, %v", c.resource, got, err)
		}
		out := newFunc()
		if err := s.Get(t.Context(), c.key, store.GetOptions{}, out); err != nil {
			t.Errorf("%s can't be read back: %v", c.resource, err)
		}
	}
}

func TestRESTOptions(t *testing.T) {
	o := options(t)
	o.DeleteCollectionWorkers = 3
	f := getter(t, o)
	version := schema.GroupVersions{corev1.SchemeGroupVersion}
	f.EncodeVersioner = func(schema.GroupResource) runtime.GroupVersioner { return version }
	got, err := f.GetRESTOptions(schema.GroupResource{Resource: "nodes"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.ResourcePrefix != "minions" || got.DeleteCollectionWorkers != 3 || !got.EnableGarbageCollection ||
		got.CountMetricPollPeriod == 0 || got.StorageConfig.Codec == nil || got.StorageConfig.EncodeVersioner == nil ||
		got.StorageConfig.GroupResource.Resource != "nodes" || got.StorageConfig.Prefix != o.StorageConfig.Prefix {
		t.Errorf("got %+v", got)
	}
	same, err := got.GetRESTOptions(schema.GroupResource{}, nil)
	if err != nil || same.ResourcePrefix != "minions" {
		t.Errorf("options as a getter: %+v, %v", same, err)
	}
	_, err = f.GetRESTOptions(schema.GroupResource{Group: "example.com", Resource: "pandas"}, nil)
	if err == nil || err.Error() != "unable to find storage destination for pandas.example.com, due to no such group" {
		t.Errorf("got %v", err)
	}
}

func TestMistakesInOptions(t *testing.T) {
	o := options(t)
	o.EncryptionProviderConfigFilepath = "testdata/none.yaml"
	if _, err := backend.NewSimpleRestOptionsFactory(*o, codecOf); err == nil || !strings.Contains(err.Error(), "testdata/none.yaml") {
		t.Errorf("got %v", err)
	}
	o = options(t)
	o.WatchCacheSizes = []string{"pods"}
	if _, err := backend.NewSimpleRestOptionsFactory(*o, codecOf); err == nil {
		t.Error("a wrong cache size is accepted")
	}
}

// TestWhoHasACacher calls the chosen decorator: the one for cachers here only tells that it was called.
func TestWhoHasACacher(t *testing.T) {
	errCacher := errors.New("cacher")
	cacher := func(*backend.ConfigForResource, string, func() runtime.Object, func() runtime.Object, store.AttrFunc,
		store.IndexerFuncs) (store.Interface, backend.DestroyFunc, error) {
		return nil, nil, errCacher
	}
	for name, c := range map[string]struct {
		enabled   bool
		size      int
		sizes     []string
		decorator backend.StorageDecorator
		want      bool
		why       string
	}{
		"enabled":        {true, 100, nil, cacher, true, "cached-by-default"},
		"with a size":    {true, 100, []string{"configmaps#50"}, cacher, true, "cached-by-size"},
		"others without": {true, 100, []string{"pods#0"}, cacher, true, "cached-by-default"},
		"without":        {true, 100, []string{"configmaps#0"}, cacher, false, "uncached-by-size"},
		"disabled":       {false, 100, nil, cacher, false, "uncached-for-all"},
		"none for all":   {true, 0, []string{"configmaps#50"}, cacher, false, "uncached-by-zero"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			o.EnableWatchCache, o.DefaultWatchCacheSize, o.WatchCacheSizes = c.enabled, c.size, c.sizes
			f := getter(t, o)
			f.StorageWithCacher = c.decorator
			rest, err := f.GetRESTOptions(schema.GroupResource{Resource: "configmaps"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			newFunc := func() runtime.Object { return &corev1.ConfigMap{} }
			_, destroy, err := rest.Decorator(rest.StorageConfig, "/configmaps", newFunc, newFunc, nil, nil)
			if err == nil {
				destroy()
			}
			if errors.Is(err, errCacher) != c.want || !c.want && err != nil {
				t.Errorf("got %v", err)
			}
			w := &trace.Way{}
			w.Add(rest.StorageConfig.Notes)
			if got := w.Steps[0]; got.ID != steps.StorageOptions || got.Reason.String() != c.why {
				t.Errorf("it says %q", got.Why)
			}
		})
	}
}
