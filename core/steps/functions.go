package steps

import (
	"slices"
	"strings"
	"sync"
)

// inArticles are the names that articles about the Kubernetes API server have for a step, if its functions have others:
// further functions of the same chain, types and variables, and functions of older releases. docs/articles.md has them
// too.
var inArticles = map[ID][]string{
	HandlerRoute: {`NonGoRestfulMux.HandlePrefix("/apis/", crdHandler)`, "kubeAPIServer", "GoRestfulContainer",
		"apiExtensionsServer.GenericAPIServer"},
	HandlerNotFound:     {"r.delegate.ServeHTTP", "delegationTarget"},
	HandlerMetrics:      {"metrics.InstrumentHandlerFunc"},
	HandlerGet:          {"handlers.GetResource", "handlers.GetResourceWithOptions"},
	HandlerCreate:       {"handlers.CreateResource"},
	HandlerNamer:        {"scope.Namer.Name", "scope.Namer.Namespace"},
	HandlerOptions:      {"getRequestOptions", "getter", "CreateOptions", "DeleteOptions"},
	CRDServe:            {"crdLister.Get", "default: apierrors.NewNotFound"},
	RESTGet:             {"GetterWithOptions.Get"},
	RESTCreate:          {"REST.Create"},
	CustomGet:           {"CustomResourceStorage.CustomResource"},
	CustomStatusGet:     {"CustomResourceStorage.Status"},
	CustomScaleGet:      {"CustomResourceStorage.Scale"},
	StorePrepare:        {"UpdateStrategy: deployment.StatusStrategy"},
	StoreList:           {"GetToList"},
	StoreInterpretError: {"InterpretDeleteError"},
	DryRunDelete:        {"storage.Interface.Delete"},
	CacherGet:           {"storage.Interface.Get"},
	CacherList:          {"CacherStorage", "GetToList"},
	CacherWatch:         {"CacherStorage"},
	CacherUpdate:        {"CacherStorage"},
	CacherWait:          {"watchCache.WaitUntilFreshAndGet"},
	Etcd3Get:            {"validateMinimumResourceVersion"},
	Etcd3Create:         {"storage.Interface.Create", "Create(…, ttl)"},
	Etcd3Update:         {"UnderlyingStorage"},
	Etcd3Delete:         {"UnderlyingStorage"},
	Etcd3NotFound:       {"opts.IgnoreNotFound"},
	Etcd3Metrics:        {"metrics.RecordEtcdRequestLatency"},
	EtcdKeyRevision:     {"c.storage.Get"},
	HandlerTable:        {"TableConvertor"},
	InstallAPIs:         {"CreateServerChain", "CreateKubeAPIServer", "completedConfig.New"},
	InstallProvider:     {"NewStorage", "restStorageProviders", "APIGroupInfo", "VersionedResourcesStorageMap"},
	InstallVersion:      {"installer.Install"},
	InstallVerb:         {"storage.(rest.GetterWithOptions)", "restfulGetResourceWithOptions"},
	StorageFactory:      {"factory.Create"},
	StorageEtcd3:        {"etcd3.New", "newStore"},
}

// InArticles are the names by which articles know the step, beside those of its functions.
func (id ID) InArticles() []string { return inArticles[id] }

// Functions are the names of a step's functions, upstream and in articles: each as it is, and without its package or
// type. A step that this version of kx does not have has none.
func Functions(step string) []string { return functions()[step] }

var functions = sync.OnceValue(func() map[string][]string {
	all := make(map[string][]string, Count)
	for _, id := range All() {
		names := append([]string{id.Info().Upstream.Symbol}, id.InArticles()...)
		for _, name := range names {
			names = append(names, LastName(name))
		}
		slices.Sort(names)
		all[id.String()] = slices.Compact(names)
	}
	return all
})

// IsFunction says whether a name is that of a function of a step, whole, upstream or in articles. Upper and lower case
// are the same.
func IsFunction(name string) bool {
	for _, names := range functions() {
		if slices.ContainsFunc(names, func(one string) bool { return strings.EqualFold(one, name) }) {
			return true
		}
	}
	return false
}

// LastName is the name of a function without the package and the type to which it belongs, and without the number of a
// function literal within it.
func LastName(function string) string {
	for {
		i := strings.LastIndexByte(function, '.')
		last := function[i+1:]
		if digits := strings.TrimPrefix(last, "func"); i < 0 || strings.Trim(digits, "0123456789") != "" {
			return last
		}
		function = function[:i]
	}
}
