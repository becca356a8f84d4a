package steps

import (
	"slices"
	"strings"
	"sync"
)

// Stepless explains a name from articles about the Kubernetes API server that is no step. Its work is done once at
// the start, by a library, within a step of another name, or no longer at all.
type Stepless struct {
	// Names are the terms that the articles use.
	Names []string
	// Text says what does its work here, and why that is no step.
	Text string
	// Function does its work in kx, in this File.
	Function, File string
}

// stepless is the table. Names that are also ordinary words, such as Complete, are left out: a filter looks for them in
// texts.
var stepless = []Stepless{
	{[]string{"NewCustomResourceDefinitionHandler"},
		"It makes the crdHandler when the server starts, before any request. What the crdHandler does is the step crd.serve.",
		"newCRDHandler", "server/crd/handler.go"},
	{[]string{"CustomResourceDefinitions", "s.Informers.Apiextensions().V1().CustomResourceDefinitions"},
		"The definitions are kept as etcd has them, by a lister that all requests share. The step crd.serve looks one up there.", "New",
		"server/crd/lister/lister.go"},
	{[]string{"RequestInfoFrom", "apirequest.RequestInfoFrom", "requestInfo"},
		"Handlers take the request info from the context. The step filter.request-info put it there.", "WithRequestInfo",
		"server/filter/requestinfo.go"},
	{[]string{"ErrorNegotiated", "responsewriters.ErrorNegotiated", "scope.err"},
		"It writes an error as a Status. That is a part of the step which failed: error:TEXT finds its requests.", "ErrorNegotiated",
		"server/handler/responsewriters/errors.go"},
	{[]string{"RequestScope", "requestScopes"},
		"It has what the handlers of one resource and version share. It is made with them: the steps install.handlers and install.served.",
		"RequestScope", "server/handler/scope.go"},
	{[]string{"shallowCopyObjectMeta"}, "Upstream copies the metadata, " +
		"since its cache shares objects. Here the answer is made of the cached bytes, " +
		"and a caller that changes an object decodes its own.", "Own", "core/object/encoded.go"},
	{[]string{"NewFunc", "e.NewFunc", "NewListFunc"},
		"It makes an empty object for the decoder. It takes no step of its own: etcd3.decode fills the object.", "New",
		"store/registry/store.go"},
	{[]string{"qualifiedResourceFromContext"}, "It names the resource for an error, within the step store.interpret-error.",
		"qualifiedResourceFromContext", "store/registry/store.go"},
	{[]string{"getTypeName"}, "Older releases had the Go type as a label of their metrics. Now the labels are group and resource: " +
		"the step etcd3.metrics names them.", "For", "store/etcd3/metrics/resource.go"},
	{[]string{"SetZeroValue", "runtime.SetZeroValue"},
		"It empties the object that is returned for a key without a value, " +
			"within the step that read the key. Its reason is read-nothing-allowed.", "get", "store/etcd3/store.go"},
	{[]string{"NewInternalError", "storage.NewInternalError"},
		"It makes the error of a stored value that cannot be read. The step etcd3.decode or transform.from-storage ends with that error.",
		"NewInternalError", "store/errors.go"},
	{[]string{"APIObjectVersioner"}, "It writes revisions into objects and reads them. That is a part of the steps that decode " +
		"and encode.", "APIObjectVersioner", "core/object/versioner.go"},
	{[]string{"authenticatedDataString"}, "It ties an encrypted value to its key, " +
		"within the steps transform.from-storage and transform.to-storage.", "AuthenticatedData", "store/transform/transformer.go"},
	{[]string{"LeaseManagerConfig"}, "It says how long objects share a lease, " +
		"and is read once at the start. The step etcd3.lease follows it.", "LeaseManagerConfig", "store/etcd3/lease.go"},
	{[]string{"rest.Storage", "DeploymentStorage", "StandardStorage"},
		"An interface or a struct runs nothing. The step install.verb says which interfaces of core/rest a storage has.", "Storage",
		"core/rest/rest.go"},
	{[]string{"RegistryStore", "genericregistry.Store"},
		"It is the type behind all steps of the layer store: layer:store finds their requests.", "Store", "store/registry/store.go"},
	{[]string{"StoreOptions", "RESTOptionsGetter"},
		"It is handed over when a storage is made. The steps storage.complete and storage.options use it.", "StoreOptions",
		"store/registry/complete.go"},
	{[]string{"NewTableGenerator", "printers.NewTableGenerator", "AddHandlers", "printersinternal.AddHandlers"},
		"It registers upstream's printers. In kx each resource declares its own columns, and the step handler.table uses them.", "asTable",
		"server/handler/table.go"},
	{[]string{"DeleteStrategy", "RESTDeleteStrategy"}, "The step store.before-delete asks it for the grace period.", "RESTDeleteStrategy",
		"core/rest/strategy.go"},
	{[]string{"RESTUpdateStrategy"}, "The steps store.before-update and store.prepare call it.", "RESTUpdateStrategy",
		"core/rest/strategy.go"},
	{[]string{"AfterCreate", "ObjectFunc"}, "No resource of kx has this hook. Where there is one, it takes the step store.after, " +
		"as AfterDelete does.", "create", "store/registry/create.go"},
	{[]string{"WatchList"}, "Older releases had it for watches of several keys. Watch does both since, by a prefix: " +
		"the steps cacher.watch and etcd3.watch.", "Watch", "store/cacher/decode.go"},
	{[]string{"SelectionPredicate"}, "It is an argument of lists and watches: " +
		"the selectors. The step cacher.list or etcd3.list applies it.", "SelectionPredicate", "store/predicate.go"},
	{[]string{"Preconditions"}, "It is an argument of writes: UID and resourceVersion. The steps store.before-delete, " +
		"etcd3.update and etcd3.delete compare them.", "Preconditions", "store/interface.go"},
	{[]string{"ValidateObjectFunc", "ValidateDeletion"},
		"It is an argument of writes: validating admission, which the storage calls back. The step handler.validate is that call.",
		"ValidateObjectFunc", "store/interface.go"},
	{[]string{"ParseWatchCacheSizes"}, "It reads a flag when the server starts.", "ParseWatchCacheSizes", "store/backend/etcd_options.go"},
	{[]string{"EnableGarbageCollection", "EnableWatchCache"},
		"It is an option, which is read when storages are made. The step storage.options gives them to each.", "EtcdOptions",
		"store/backend/etcd_options.go"},
	{[]string{"DestroyFunc"}, "It closes a storage when the server stops or its definition is gone, which no request waits for.",
		"DestroyFunc", "store/backend/factory/config.go"},
	{[]string{"restful.WebService", "WebService"},
		"kx has no go-restful: the step install.version gives the handlers of a version to a Router, " +
			"and the step handler.route finds one there.", "Router", "server/endpoint/router.go"},
	{[]string{"getterFunc"}, "It is the function that getResourceHandler calls: the steps handler.options and rest.get.", "getterFunc",
		"server/handler/get.go"},
	{[]string{"NewGetOptions"}, "It makes empty options for the step handler.options to fill.", "NewGetOptions", "core/rest/connect.go"},
	{[]string{"utiltrace.New", "utiltrace.Trace", "LogIfLong", "trace.LogIfLong", "trace.Step"},
		"Upstream logs where the time of a slow request went. Here a journey has the time of every step, " +
			"and the audit log sums up those of slow requests.", "annotateLatency", "server/filter/latency.go"},
	{[]string{"request.WithNamespace", "WithNamespace"},
		"It puts the namespace into the context, behind the step handler.namer, which read it from the path.", "objectRequest",
		"server/handler/get.go"},
}

var steplessByName = sync.OnceValue(func() map[string]*Stepless {
	all := map[string]*Stepless{}
	for i := range stepless {
		for _, name := range stepless[i].Names {
			all[strings.ToLower(name)] = &stepless[i]
		}
	}
	return all
})

// LookupStepless finds what articles name so and no step is, or nil. Upper and lower case are the same. A package or a
// variable may stand before the name.
func LookupStepless(name string) *Stepless {
	name = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(name), "()"))
	if s := steplessByName()[name]; s != nil {
		return s
	}
	return steplessByName()[name[strings.LastIndexByte(name, '.')+1:]]
}

// AllStepless are the functions and types of articles that no step is.
func AllStepless() []Stepless { return slices.Clone(stepless) }

// Place is where its work is done.
func (s *Stepless) Place() string { return s.Function + ", " + s.File }
