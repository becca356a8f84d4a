package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/sites"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/docs"
	"github.com/kx-apiserver/kx/server"
)

// found are the IDs of the steps that kx trace steps finds by a name.
func found(t *testing.T, name string) (ids []string) {
	t.Helper()
	a := typeCommand("trace", "steps", name, "-o", "json")
	var all []sites.Step
	if a.code != 0 || json.Unmarshal([]byte(a.out), &all) != nil {
		t.Errorf("trace steps %q: exit code %d: %s%s", name, a.code, a.err, a.out)
	}
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	return ids
}

func TestTraceSteps(t *testing.T) {
	var all []sites.Step
	if a := typeCommand("trace", "steps", "-o", "json"); json.Unmarshal([]byte(a.out), &all) != nil || len(all) != len(steps.All()) {
		t.Fatalf("%d steps, exit code %d: %s", len(all), a.code, a.err)
	}
	for _, s := range all {
		if s.Layer == "" || s.Does == "" || s.Function == "" || s.File == "" || s.Line == 0 {
			t.Errorf("something is missing of %+v", s)
		}
	}
	for name, want := range map[string]string{
		"crd.info":                   "crd.info",
		"getorcreateservinginfofor":  "crd.info",
		"WaitUntilFreshAndGet":       "cacher.wait",
		"(*kv).commit":               "etcd.txn",
		"restGet":                    "rest.get",
		"handlers.GetResource":       "handler.get",
		"registry.Store.Delete":      "store.delete",
		"storage.Interface.Create()": "etcd3.create",
	} {
		if ids := found(t, name); !slices.Contains(ids, want) {
			t.Errorf("%s is %v, want %s", name, ids, want)
		}
	}
	a := typeCommand("trace", "steps", "getOrCreateServingInfo4")
	want := `no step or function is called "getOrCreateServingInfo4"; near it: getOrCreateServingInfoFor`
	if a.code != 1 || !strings.Contains(a.err, want) || a.out != "" {
		t.Errorf("exit code %d: %s%s", a.code, a.err, a.out)
	}
	for format, want := range map[string]string{
		"table": "crdHandler.getOrCreateServingInfoFor  It takes what serves the definition, or makes it\n",
		"wide":  "server/crd/info.go:",
		"yaml":  "  function: server/crd.(*crdHandler).getOrCreateServingInfoFor\n",
	} {
		if a := typeCommand("trace", "steps", "crd.info", "-o", format); a.code != 0 || !strings.Contains(a.out, want) {
			t.Errorf("-o %s: exit code %d: %s%s", format, a.code, a.err, a.out)
		}
	}
	if a := typeCommand("trace", "steps", "crd.info", "--lang", "zh"); a.code != 0 || strings.Contains(a.out, "It takes what") {
		t.Errorf("exit code %d: %s%s", a.code, a.err, a.out)
	}
}

var (
	articleRow = regexp.MustCompile("(?m)^\\| (.*`.*) \\| `([a-z0-9]+\\.[a-z0-9-]+)` \\| `")
	inQuotes   = regexp.MustCompile("`([^`]+)`")
)

// TestTraceStepsOfArticles: each function that docs/articles.md names is found, and no other name is kept for articles.
func TestTraceStepsOfArticles(t *testing.T) {
	text, err := docs.Files.ReadFile("articles.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := sites.All(server.Source(), lang.English)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{} // by the functions
	for _, row := range articleRow.FindAllStringSubmatch(string(text), -1) {
		for _, name := range inQuotes.FindAllStringSubmatch(row[1], -1) {
			names[name[1]] = append(names[name[1]], row[2])
		}
	}
	if len(names) < 80 {
		t.Fatalf("docs/articles.md names %d functions: this test reads it wrongly", len(names))
	}
	for name, want := range names {
		found := sites.Find(all, name)
		for _, id := range want {
			if !slices.ContainsFunc(found, func(s sites.Step) bool { return s.ID == id }) {
				t.Errorf("%s is %v, want %s", name, found, id)
			}
		}
	}
	for _, id := range steps.All() {
		for _, name := range id.InArticles() {
			if !slices.Contains(names[name], id.String()) {
				t.Errorf("docs/articles.md does not say that %s is %s", name, id)
			}
		}
	}
}

// inThreeArticles are the functions and types that three articles about the API server name.
var inThreeArticles = strings.Fields(`
NewCustomResourceDefinitionHandler CustomResourceDefinitions NonGoRestfulMux.HandlePrefix crdHandler crdHandler.ServeHTTP
apirequest.RequestInfoFrom crdLister.Get getOrCreateServingInfoFor r.delegate.ServeHTTP serveStatus serveScale serveResource
responsewriters.ErrorNegotiated apierrors.NewNotFound apierrors.NewMethodNotSupported metrics.InstrumentHandlerFunc
genericfilters.WithWaitGroup requestScopes handlers.GetResource handlers.ListResource getResourceHandler rest.Getter
CustomResourceStorage StatusREST ScaleREST shallowCopyObjectMeta Store.Get e.NewFunc e.KeyFunc storeerr.InterpretGetError
qualifiedResourceFromContext e.Decorator DryRunnableStorage generic.UndecoratedStorage NewRawStorage factory.Create
newETCD3Storage etcd3.New newStore APIObjectVersioner LeaseManagerConfig RecordEtcdRequestLatency getTypeName client.KV.Get
validateMinimumResourceVersion runtime.SetZeroValue storage.NewKeyNotFoundError TransformFromStorage authenticatedDataString
storage.NewInternalError decode storage.Interface

CacherStorage RawStorage RESTStorage rest.Storage NewStorage NewREST DeploymentStorage RollbackREST store.CompleteWithOptions
generic.StoreOptions generic.RESTOptionsGetter printerstorage.TableConvertor printers.NewTableGenerator
printersinternal.AddHandlers RegistryStore genericregistry.Store rest.StandardStorage CreateStrategy UpdateStrategy DeleteStrategy
RESTCreateStrategy RESTUpdateStrategy RESTDeleteStrategy AfterCreate ObjectFunc WatchList GetToList GuaranteedUpdate
SelectionPredicate Preconditions ValidateObjectFunc UpdateFunc UnderlyingStorage SimpleRestOptionsFactory GetRESTOptions
ParseWatchCacheSizes StorageWithCacher EnableGarbageCollection EnableWatchCache Cacher.Get c.storage.Get WaitUntilFreshAndGet

APIGroupInfo VersionedResourcesStorageMap completedConfig.New DelegationTarget CreateServerChain CreateKubeAPIServer
RESTStorageProvider InstallAPIs InstallAPIGroups installAPIResources InstallREST GoRestfulContainer installer.Install
registerResourceHandlers restfulGetResourceWithOptions handlers.GetResourceWithOptions getterFunc utiltrace.New LogIfLong
trace.Step scope.Namer.Name scope.err request.WithNamespace negotiation.NegotiateOutputMediaType transformResponseObject
NewGetOptions getRequestOptions APIInstaller restful.WebService rest.GetterWithOptions GenericAPIServer`)

// TestNamesOfThreeArticles: each name is a step's, or the error says what does its work. A filter refuses a name of the second kind.
func TestNamesOfThreeArticles(t *testing.T) {
	all, err := sites.All(server.Source(), lang.English)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range inThreeArticles {
		s := steps.LookupStepless(name)
		if s == nil {
			if len(sites.Find(all, name)) == 0 {
				t.Errorf("nothing is called %s", name)
			}
			continue
		}
		want := s.Text + " (" + s.Place() + ")"
		for _, args := range [][]string{{"steps", name}, {"ls", "verb:get " + name}} {
			if a := typeCommand(append([]string{"trace"}, args...)...); a.code == 0 || !strings.Contains(a.err, want) {
				t.Errorf("%v: exit code %d: %s%s, want %s", args, a.code, a.err, a.out, want)
			}
		}
	}
	if a := typeCommand("trace", "steps", "LogIfLong", "--lang", "zh"); a.code == 0 || !strings.Contains(a.err, "没有步骤对应 LogIfLong。上游") {
		t.Errorf("exit code %d: %s", a.code, a.err)
	}
}

// TestTraceOfAFunction: a word in a filter finds requests by the functions that their steps are.
func TestTraceOfAFunction(t *testing.T) {
	newTyping(t)
	if a := typeCommand("create", "configmap", "one"); a.code != 0 {
		t.Fatal(a.err)
	}
	for word, want := range map[string]bool{
		"createHandler": true, "RESTCREATE": true, "Creater.Create": true, "handlers.CreateResource": true, "store.create": true,
		"createHandle": false, "getResourceHandler": false,
	} {
		a := typeCommand("trace", "ls", "verb:create resource:configmaps "+word)
		if a.code != 0 || (a.out != "") != want {
			t.Errorf("%s: want a request: %v, exit code %d: %s%s", word, want, a.code, a.err, a.out)
		}
	}
}

// TestTraceShowWide: -o wide has the ID and the function of each step, and the text for programs is as it was.
func TestTraceShowWide(t *testing.T) {
	newTyping(t)
	if a := typeCommand("create", "configmap", "wide"); a.code != 0 {
		t.Fatal(a.err)
	}
	lines := strings.Fields(typeCommand("trace", "ls", "verb:create name:wide").out)
	if len(lines) == 0 {
		t.Fatal("the request is not listed")
	}
	id := lines[len(lines)-1]
	names := regexp.MustCompile(`store +\S+  store\.create +registry\.\(\*Store\)\.create +.*Store\.Create`)
	for format, want := range map[string]bool{"--output=wide": true, "--lang=en": false} {
		if a := typeCommand("trace", "show", id, format); a.code != 0 || names.MatchString(a.out) != want || !strings.Contains(a.out, "Store.Create") {
			t.Errorf("-o %s: exit code %d: %s%s", format, a.code, a.err, a.out)
		}
	}
}
