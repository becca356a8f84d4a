package upstream

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes/scheme"
	restclient "k8s.io/client-go/rest"
	basecompat "k8s.io/component-base/compatibility"

	"k8s.io/kube-openapi/pkg/common"

	kxrest "github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core"
	kxopenapi "github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/store/embedded"
)

// startUpstream serves config maps from an etcd of its own.
func startUpstream(t *testing.T) *httptest.Server {
	t.Helper()
	types := runtime.NewScheme()
	must(t, corev1.AddToScheme(types))
	metav1.AddToGroupVersion(types, schema.GroupVersion{Version: "v1"})
	internal := schema.GroupVersion{Version: runtime.APIVersionInternal}
	types.AddKnownTypes(internal, &corev1.ConfigMap{}, &corev1.ConfigMapList{})
	must(t, types.AddFieldLabelConversionFunc(corev1.SchemeGroupVersion.WithKind("ConfigMap"), runtime.DefaultMetaV1FieldSelectorConversion))
	codecs := serializer.NewCodecFactory(types)

	config := genericapiserver.NewConfig(codecs)
	config.ExternalAddress = "127.0.0.1:443"
	config.LoopbackClientConfig = &restclient.Config{}
	config.EnableMetrics = false // both would register the same names
	// They say which client sets which field, and are all that upstream's server is told of the types.
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, openapi.NewDefinitionNamer(types))
	config.SkipOpenAPIInstallation = true
	config.EffectiveVersion = basecompat.NewEffectiveVersionFromString("1.37", "", "")
	config.Authentication.Authenticator = authenticator.RequestFunc(authenticate)
	config.Authorization.Authorizer = authorizer.AuthorizerFunc(masters)
	s, err := config.Complete(nil).New("upstream", genericapiserver.NewEmptyDelegateWithCustomHandler(http.HandlerFunc(http.NotFound)))
	must(t, err)
	t.Cleanup(s.Destroy)

	storage := storagebackend.NewDefaultConfig("/registry", codecs.LegacyCodec(corev1.SchemeGroupVersion))
	storage.Transport.ServerList = []string{startEtcd(t)}
	declared := builtin.Declare(core.ConfigMap)
	store := &registry.Store{
		NewFunc:                   func() runtime.Object { return &corev1.ConfigMap{} },
		NewListFunc:               func() runtime.Object { return &corev1.ConfigMapList{} },
		DefaultQualifiedResource:  corev1.Resource("configmaps"),
		SingularQualifiedResource: corev1.Resource("configmap"),
		CreateStrategy:            createStrategy{declared.Strategy(), rest.DeclarativeValidation{Scheme: types}},
		UpdateStrategy:            updateStrategy{declared.Strategy(), rest.DeclarativeValidation{Scheme: types}},
		DeleteStrategy:            declared.Strategy(),
		TableConvertor:            declared.Table(),
	}
	resource := schema.GroupResource{Resource: "configmaps"}
	must(t, store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: generic.RESTOptions{
		StorageConfig:           storage.ForResource(resource),
		Decorator:               generic.UndecoratedStorage,
		EnableGarbageCollection: true,
		DeleteCollectionWorkers: 1,
		ResourcePrefix:          "configmaps",
	}}))
	group := genericapiserver.NewDefaultAPIGroupInfo("", types, runtime.NewParameterCodec(types), codecs)
	group.ParameterCodec = scheme.ParameterCodec
	group.VersionedResourcesStorageMap["v1"] = map[string]rest.Storage{"configmaps": store}
	must(t, s.InstallLegacyAPIGroup("/api", &group))
	h := httptest.NewUnstartedServer(s.PrepareRun().Handler)
	h.EnableHTTP2 = true
	h.StartTLS()
	t.Cleanup(h.Close)
	h.Client().Transport.(*http.Transport).DisableCompression = true
	return h
}

// startEtcd starts an etcd and says where it listens.
func startEtcd(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	etcd, err := embedded.Start(t.Context(), embedded.Config{
		Dir: filepath.Join(dir, "etcd"), Ephemeral: true, Socket: filepath.Join(dir, embedded.SocketName),
		Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	t.Cleanup(etcd.Close)
	return "unix://" + filepath.Join(dir, embedded.SocketName)
}

// definitions are kx's of config maps and of what they are made of.
func definitions(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	const root, meta = "io.k8s.api.core.v1.ConfigMap", "io.k8s.apimachinery.pkg.apis.meta.v1."
	names := []string{root}
	for _, name := range []string{"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "DeleteOptions", "Patch", "Status", "WatchEvent"} {
		names = append(names, meta+name)
	}
	all := map[string]common.OpenAPIDefinition{}
	var parts []string
	for name, s := range kxopenapi.Definitions(names...) {
		all[name] = common.OpenAPIDefinition{Schema: *s}
		if name != root {
			parts = append(parts, name)
		}
	}
	all[root] = common.OpenAPIDefinition{Schema: all[root].Schema, Dependencies: parts}
	return all
}

// createStrategy is kx's, and says that types may declare rules, as kube-apiserver's do.
type createStrategy struct {
	kxrest.RESTCreateStrategy
	rest.DeclarativeValidation
}

// updateStrategy is the same for updates, with the methods that upstream has otherwise.
type updateStrategy struct {
	kxrest.RESTUpdateStrategy
	rest.DeclarativeValidation
}

func (s updateStrategy) AllowCreateOnUpdate(context.Context) bool {
	return s.RESTUpdateStrategy.AllowCreateOnUpdate()
}

func (s updateStrategy) AllowUnconditionalUpdate(context.Context) bool {
	return s.RESTUpdateStrategy.AllowUnconditionalUpdate()
}

// authenticate knows the people of the transcripts: whoever has no token is the administrator, who has a certificate.
func authenticate(req *http.Request) (*authenticator.Response, bool, error) {
	switch req.Header.Get("Authorization") {
	case "":
		return &authenticator.Response{User: &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}}, true, nil
	case "Bearer somebody":
		return &authenticator.Response{User: &user.DefaultInfo{Name: "ann", UID: "1", Groups: []string{user.AllAuthenticated}}}, true, nil
	}
	return nil, false, nil
}

// masters lets administrators do everything.
func masters(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if sets.New(a.GetUser().GetGroups()...).Has(user.SystemPrivilegedGroup) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
