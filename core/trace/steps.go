package trace

// Layer is the floor of the house on which a step happens.
type Layer uint8

// The layers, from the socket down.
const (
	LayerFilter Layer = iota
	LayerHandler
	LayerREST
	LayerStore
	LayerDryRun
	LayerCacher
	LayerEtcd3
	LayerTransform
	LayerEtcd
)

var layerNames = [...]string{"filter", "handler", "rest", "store", "dryrun", "cacher", "etcd3", "transform", "etcd"}

func (l Layer) String() string { return layerNames[l] }

// ID names a step that can occur. Errors, breakpoints, docs and the screen use its String.
type ID uint16

// Info is what is known of a step before it happens.
type Info struct {
	// Name is the step's ID in words, such as "etcd3.get".
	Name  string
	Layer Layer
	Title string
	// Upstream is the function that does the same in the Kubernetes API server, and File where it is, below k8s.io/.
	Upstream, File string
	// Mark says that it happens on a goroutine shared by requests: it can't be held.
	Mark bool
	// Fails says that the step can be made to fail: it asks for its Err before it does anything.
	Fails bool
	// Edits says that the step knows the request's own object, which can be edited while the step is held.
	Edits bool
}

// Info is what is known of the step.
func (id ID) Info() Info { return table[id] }

func (id ID) String() string { return table[id].Name }

// All are the steps that can occur, in the order of the table: layer by layer, downward.
func All() []ID {
	ids := make([]ID, 0, numSteps)
	for id := ID(1); id < numSteps; id++ {
		ids = append(ids, id)
	}
	return ids
}

// Lookup finds a step by name.
func Lookup(name string) (ID, bool) {
	for id := ID(1); id < numSteps; id++ {
		if table[id].Name == name {
			return id, true
		}
	}
	return 0, false
}

// The steps. Each is taken at one place in the code, and occurs in a transcript.
const (
	_ ID = iota

	FilterAuditInit
	FilterPanicRecovery
	FilterRequestInfo
	FilterLatency
	FilterWaitGroup
	FilterDeadline
	FilterWarnings
	FilterCORS
	FilterAuthentication
	FilterTracing
	FilterAudit
	FilterImpersonation
	FilterInFlight
	FilterAuthorization

	CRDServe
	CRDInfo
	CRDServeResource
	CRDServeStatus
	CRDServeScale

	HandlerGet
	HandlerList
	HandlerWatch
	HandlerCreate
	HandlerUpdate
	HandlerPatch
	HandlerDelete
	HandlerDeleteCollection
	HandlerDecode
	HandlerDefault
	HandlerConvert
	HandlerMutate
	HandlerAdmit
	HandlerValidate
	HandlerApplyPatch
	HandlerApply
	HandlerManagedFields
	HandlerTable
	HandlerEncode
	HandlerWatchEvent

	CRDPrune
	CRDDefault
	CRDValidate
	CRDCEL

	RESTGet
	RESTList
	RESTWatch
	RESTCreate
	RESTUpdate
	RESTDelete
	RESTDeleteCollection

	StoreGet
	StoreList
	StoreWatch
	StoreCreate
	StoreUpdate
	StoreDelete
	StoreDeleteCollection
	StoreBeforeCreate
	StoreBeforeUpdate
	StorePrepare
	StoreBeforeDelete
	StoreTryUpdate
	CRDConvert
	CRDWebhook

	DryRunGet
	DryRunList
	DryRunWatch
	DryRunCreate
	DryRunUpdate
	DryRunDelete

	CacherGet
	CacherList
	CacherWatch
	CacherUpdate
	CacherDelete
	CacherWait
	CacherReflect
	CacherProcessEvent
	CacherDispatch

	Etcd3Get
	Etcd3List
	Etcd3Watch
	Etcd3Create
	Etcd3Update
	Etcd3Delete
	Etcd3Decode
	Etcd3Encode
	Etcd3Event

	TransformFromStorage
	TransformToStorage

	EtcdGet
	EtcdKeyRevision
	EtcdRange
	EtcdTxn
	EtcdWatch
	EtcdLease

	numSteps
)

var table = [numSteps]Info{
	FilterAuditInit:      {Name: "filter.audit-init", Layer: LayerFilter, Title: "give the request an audit ID", Upstream: "WithAuditInit", File: "apiserver/pkg/endpoints/filters/audit_init.go"},
	FilterPanicRecovery:  {Name: "filter.panic-recovery", Layer: LayerFilter, Title: "turn a panic into a 500", Upstream: "WithPanicRecovery", File: "apiserver/pkg/server/filters/wrap.go"},
	FilterRequestInfo:    {Name: "filter.request-info", Layer: LayerFilter, Title: "read verb, resource and name from the path", Upstream: "WithRequestInfo", File: "apiserver/pkg/endpoints/filters/requestinfo.go"},
	FilterLatency:        {Name: "filter.latency", Layer: LayerFilter, Title: "start the clocks", Upstream: "WithLatencyTrackers", File: "apiserver/pkg/endpoints/filters/webhook_duration.go"},
	FilterWaitGroup:      {Name: "filter.wait-group", Layer: LayerFilter, Title: "count the request as under way, for an orderly stop", Upstream: "WithWaitGroup", File: "apiserver/pkg/server/filters/waitgroup.go"},
	FilterDeadline:       {Name: "filter.deadline", Layer: LayerFilter, Title: "set the deadline", Upstream: "WithRequestDeadline", File: "apiserver/pkg/endpoints/filters/request_deadline.go"},
	FilterWarnings:       {Name: "filter.warnings", Layer: LayerFilter, Title: "collect Warning headers", Upstream: "WithWarningRecorder", File: "apiserver/pkg/endpoints/filters/warning.go"},
	FilterCORS:           {Name: "filter.cors", Layer: LayerFilter, Title: "answer browsers of other origins", Upstream: "WithCORS", File: "apiserver/pkg/server/filters/cors.go"},
	FilterAuthentication: {Name: "filter.authentication", Layer: LayerFilter, Title: "find out who asks", Upstream: "WithAuthentication", File: "apiserver/pkg/endpoints/filters/authentication.go"},
	FilterTracing:        {Name: "filter.tracing", Layer: LayerFilter, Title: "decide how much of the journey is recorded", Upstream: "WithTracing", File: "apiserver/pkg/endpoints/filters/traces.go"},
	FilterAudit:          {Name: "filter.audit", Layer: LayerFilter, Title: "decide what the audit log says", Upstream: "WithAudit", File: "apiserver/pkg/endpoints/filters/audit.go"},
	FilterImpersonation:  {Name: "filter.impersonation", Layer: LayerFilter, Title: "act as somebody else, if asked and allowed", Upstream: "WithImpersonation", File: "apiserver/pkg/endpoints/filters/impersonation.go"},
	FilterInFlight:       {Name: "filter.in-flight", Layer: LayerFilter, Title: "take a seat, or answer 429", Upstream: "WithMaxInFlightLimit", File: "apiserver/pkg/server/filters/maxinflight.go"},
	FilterAuthorization:  {Name: "filter.authorization", Layer: LayerFilter, Title: "find out whether they may", Upstream: "WithAuthorization", File: "apiserver/pkg/endpoints/filters/authorization.go"},

	CRDServe:         {Name: "crd.serve", Layer: LayerHandler, Title: "find the CustomResourceDefinition that the request is about", Upstream: "crdHandler.ServeHTTP", File: "apiextensions-apiserver/pkg/apiserver/customresource_handler.go"},
	CRDInfo:          {Name: "crd.info", Layer: LayerHandler, Title: "find or make what serves the definition", Upstream: "crdHandler.getOrCreateServingInfoFor", File: "apiextensions-apiserver/pkg/apiserver/customresource_handler.go"},
	CRDServeResource: {Name: "crd.serve-resource", Layer: LayerHandler, Title: "serveResource", Upstream: "crdHandler.serveResource", File: "apiextensions-apiserver/pkg/apiserver/customresource_handler.go"},
	CRDServeStatus:   {Name: "crd.serve-status", Layer: LayerHandler, Title: "serveStatus", Upstream: "crdHandler.serveStatus", File: "apiextensions-apiserver/pkg/apiserver/customresource_handler.go"},
	CRDServeScale:    {Name: "crd.serve-scale", Layer: LayerHandler, Title: "serveScale", Upstream: "crdHandler.serveScale", File: "apiextensions-apiserver/pkg/apiserver/customresource_handler.go"},

	HandlerGet:              {Name: "handler.get", Layer: LayerHandler, Title: "getResourceHandler", Upstream: "getResourceHandler", File: "apiserver/pkg/endpoints/handlers/get.go"},
	HandlerList:             {Name: "handler.list", Layer: LayerHandler, Title: "ListResource", Upstream: "ListResource", File: "apiserver/pkg/endpoints/handlers/get.go"},
	HandlerWatch:            {Name: "handler.watch", Layer: LayerHandler, Title: "serveWatchHandler", Upstream: "serveWatchHandler", File: "apiserver/pkg/endpoints/handlers/watch.go"},
	HandlerCreate:           {Name: "handler.create", Layer: LayerHandler, Title: "createHandler", Upstream: "createHandler", File: "apiserver/pkg/endpoints/handlers/create.go"},
	HandlerUpdate:           {Name: "handler.update", Layer: LayerHandler, Title: "UpdateResource", Upstream: "UpdateResource", File: "apiserver/pkg/endpoints/handlers/update.go"},
	HandlerPatch:            {Name: "handler.patch", Layer: LayerHandler, Title: "PatchResource", Upstream: "PatchResource", File: "apiserver/pkg/endpoints/handlers/patch.go"},
	HandlerDelete:           {Name: "handler.delete", Layer: LayerHandler, Title: "DeleteResource", Upstream: "DeleteResource", File: "apiserver/pkg/endpoints/handlers/delete.go"},
	HandlerDeleteCollection: {Name: "handler.deletecollection", Layer: LayerHandler, Title: "DeleteCollection", Upstream: "DeleteCollection", File: "apiserver/pkg/endpoints/handlers/delete.go"},
	HandlerDecode:           {Name: "handler.decode", Layer: LayerHandler, Title: "make an object of the body", Upstream: "decoder.Decode", File: "apiserver/pkg/endpoints/handlers/create.go"},
	HandlerDefault:          {Name: "handler.default", Layer: LayerHandler, Title: "set the defaults of the version", Upstream: "Scheme.Default", File: "apimachinery/pkg/runtime/scheme.go"},
	HandlerConvert:          {Name: "handler.convert", Layer: LayerHandler, Title: "convert between the request's version and the stored one", Upstream: "ConvertToVersion", File: "apimachinery/pkg/runtime/scheme.go"},
	HandlerMutate:           {Name: "handler.mutate", Layer: LayerHandler, Title: "mutating admission", Upstream: "Admit", File: "apiserver/pkg/admission/chain.go", Fails: true},
	HandlerAdmit:            {Name: "handler.admit", Layer: LayerHandler, Title: "an admission plugin may change it", Upstream: "MutationInterface.Admit", File: "apiserver/pkg/admission/interfaces.go", Fails: true},
	HandlerValidate:         {Name: "handler.validate", Layer: LayerHandler, Title: "validating admission", Upstream: "Validate", File: "apiserver/pkg/admission/chain.go", Fails: true},
	HandlerApplyPatch:       {Name: "handler.apply-patch", Layer: LayerHandler, Title: "apply the patch to the present state", Upstream: "applyPatchToCurrentObject", File: "apiserver/pkg/endpoints/handlers/patch.go"},
	HandlerApply:            {Name: "handler.apply", Layer: LayerHandler, Title: "merge what the client applies with the present state", Upstream: "applyPatcher.applyPatchToCurrentObject", File: "apiserver/pkg/endpoints/handlers/patch.go"},
	HandlerManagedFields:    {Name: "handler.managed-fields", Layer: LayerHandler, Title: "note who owns which field", Upstream: "FieldManager.UpdateNoErrors", File: "apimachinery/pkg/util/managedfields/internal/fieldmanager.go"},
	HandlerTable:            {Name: "handler.table", Layer: LayerHandler, Title: "make rows of it", Upstream: "asTable", File: "apiserver/pkg/endpoints/handlers/response.go"},
	HandlerEncode:           {Name: "handler.encode", Layer: LayerHandler, Title: "write the response", Upstream: "transformResponseObject", File: "apiserver/pkg/endpoints/handlers/response.go"},
	HandlerWatchEvent:       {Name: "handler.watch-event", Layer: LayerHandler, Title: "send one event to the watcher", Upstream: "WatchServer.HandleHTTP", File: "apiserver/pkg/endpoints/handlers/watch.go", Fails: true},

	CRDPrune:    {Name: "crd.prune", Layer: LayerHandler, Title: "drop the fields that the schema does not know", Upstream: "schemaCoercingDecoder.Decode", File: "apiextensions-apiserver/pkg/apiserver/customresource_handler.go"},
	CRDDefault:  {Name: "crd.default", Layer: LayerHandler, Title: "set the schema's defaults", Upstream: "unstructuredDefaulter.Default", File: "apiextensions-apiserver/pkg/apiserver/customresource_handler.go"},
	CRDValidate: {Name: "crd.validate", Layer: LayerHandler, Title: "check the object by its schema", Upstream: "customResourceStrategy.Validate", File: "apiextensions-apiserver/pkg/registry/customresource/strategy.go"},
	CRDCEL:      {Name: "crd.cel", Layer: LayerHandler, Title: "evaluate a rule of the schema", Upstream: "Validator.Validate", File: "apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go"},

	RESTGet:              {Name: "rest.get", Layer: LayerREST, Title: "REST.Get", Upstream: "rest.Getter.Get", File: "apiserver/pkg/registry/rest/rest.go", Fails: true},
	RESTList:             {Name: "rest.list", Layer: LayerREST, Title: "REST.List", Upstream: "rest.Lister.List", File: "apiserver/pkg/registry/rest/rest.go", Fails: true},
	RESTWatch:            {Name: "rest.watch", Layer: LayerREST, Title: "REST.Watch", Upstream: "rest.Watcher.Watch", File: "apiserver/pkg/registry/rest/rest.go", Fails: true},
	RESTCreate:           {Name: "rest.create", Layer: LayerREST, Title: "REST.Create", Upstream: "rest.Creater.Create", File: "apiserver/pkg/registry/rest/rest.go", Fails: true},
	RESTUpdate:           {Name: "rest.update", Layer: LayerREST, Title: "REST.Update", Upstream: "rest.Updater.Update", File: "apiserver/pkg/registry/rest/rest.go", Fails: true},
	RESTDelete:           {Name: "rest.delete", Layer: LayerREST, Title: "REST.Delete", Upstream: "rest.GracefulDeleter.Delete", File: "apiserver/pkg/registry/rest/rest.go", Fails: true},
	RESTDeleteCollection: {Name: "rest.deletecollection", Layer: LayerREST, Title: "REST.DeleteCollection", Upstream: "rest.CollectionDeleter.DeleteCollection", File: "apiserver/pkg/registry/rest/rest.go", Fails: true},

	StoreGet:              {Name: "store.get", Layer: LayerStore, Title: "Store.Get", Upstream: "Store.Get", File: "apiserver/pkg/registry/generic/registry/store.go"},
	StoreList:             {Name: "store.list", Layer: LayerStore, Title: "Store.List", Upstream: "Store.ListPredicate", File: "apiserver/pkg/registry/generic/registry/store.go"},
	StoreWatch:            {Name: "store.watch", Layer: LayerStore, Title: "Store.Watch", Upstream: "Store.WatchPredicate", File: "apiserver/pkg/registry/generic/registry/store.go"},
	StoreCreate:           {Name: "store.create", Layer: LayerStore, Title: "Store.Create", Upstream: "Store.create", File: "apiserver/pkg/registry/generic/registry/store.go"},
	StoreUpdate:           {Name: "store.update", Layer: LayerStore, Title: "Store.Update", Upstream: "Store.Update", File: "apiserver/pkg/registry/generic/registry/store.go"},
	StoreDelete:           {Name: "store.delete", Layer: LayerStore, Title: "Store.Delete", Upstream: "Store.Delete", File: "apiserver/pkg/registry/generic/registry/store.go"},
	StoreDeleteCollection: {Name: "store.deletecollection", Layer: LayerStore, Title: "Store.DeleteCollection", Upstream: "Store.DeleteCollection", File: "apiserver/pkg/registry/generic/registry/store.go"},
	StoreBeforeCreate:     {Name: "store.before-create", Layer: LayerStore, Title: "BeforeCreate: system fields, the strategy, validation", Upstream: "BeforeCreate", File: "apiserver/pkg/registry/rest/create.go", Edits: true},
	StoreBeforeUpdate:     {Name: "store.before-update", Layer: LayerStore, Title: "BeforeUpdate: the strategy, validation", Upstream: "BeforeUpdate", File: "apiserver/pkg/registry/rest/update.go", Edits: true},
	StorePrepare:          {Name: "store.prepare", Layer: LayerStore, Title: "the resource's strategy puts it in order", Upstream: "RESTCreateStrategy.PrepareForCreate", File: "apiserver/pkg/registry/rest/create.go"},
	StoreBeforeDelete:     {Name: "store.before-delete", Layer: LayerStore, Title: "BeforeDelete: preconditions, grace, propagation", Upstream: "BeforeDelete", File: "apiserver/pkg/registry/rest/delete.go"},
	StoreTryUpdate:        {Name: "store.try-update", Layer: LayerStore, Title: "the storage calls back up: what is the next state?", Upstream: "tryUpdate", File: "apiserver/pkg/registry/generic/registry/store.go", Fails: true},
	CRDConvert:            {Name: "crd.convert", Layer: LayerStore, Title: "convert custom resources to another version", Upstream: "crConverter.ConvertToVersion", File: "apiextensions-apiserver/pkg/apiserver/conversion/converter.go"},
	CRDWebhook:            {Name: "crd.webhook", Layer: LayerStore, Title: "ask the conversion webhook", Upstream: "webhookConverter.Convert", File: "apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go", Fails: true},

	DryRunGet:    {Name: "dryrun.get", Layer: LayerDryRun, Title: "DryRunnableStorage.Get", Upstream: "DryRunnableStorage.Get", File: "apiserver/pkg/registry/generic/registry/dryrun.go"},
	DryRunList:   {Name: "dryrun.list", Layer: LayerDryRun, Title: "DryRunnableStorage.GetList", Upstream: "DryRunnableStorage.GetList", File: "apiserver/pkg/registry/generic/registry/dryrun.go"},
	DryRunWatch:  {Name: "dryrun.watch", Layer: LayerDryRun, Title: "DryRunnableStorage.Watch", Upstream: "DryRunnableStorage.Watch", File: "apiserver/pkg/registry/generic/registry/dryrun.go"},
	DryRunCreate: {Name: "dryrun.create", Layer: LayerDryRun, Title: "DryRunnableStorage.Create", Upstream: "DryRunnableStorage.Create", File: "apiserver/pkg/registry/generic/registry/dryrun.go"},
	DryRunUpdate: {Name: "dryrun.update", Layer: LayerDryRun, Title: "DryRunnableStorage.GuaranteedUpdate", Upstream: "DryRunnableStorage.GuaranteedUpdate", File: "apiserver/pkg/registry/generic/registry/dryrun.go"},
	DryRunDelete: {Name: "dryrun.delete", Layer: LayerDryRun, Title: "DryRunnableStorage.Delete", Upstream: "DryRunnableStorage.Delete", File: "apiserver/pkg/registry/generic/registry/dryrun.go"},

	CacherGet:          {Name: "cacher.get", Layer: LayerCacher, Title: "Cacher.Get", Upstream: "CacheDelegator.Get", File: "apiserver/pkg/storage/cacher/delegator.go"},
	CacherList:         {Name: "cacher.list", Layer: LayerCacher, Title: "Cacher.GetList", Upstream: "CacheDelegator.GetList", File: "apiserver/pkg/storage/cacher/delegator.go"},
	CacherWatch:        {Name: "cacher.watch", Layer: LayerCacher, Title: "Cacher.Watch", Upstream: "Cacher.Watch", File: "apiserver/pkg/storage/cacher/cacher.go"},
	CacherUpdate:       {Name: "cacher.update", Layer: LayerCacher, Title: "CacheDelegator.GuaranteedUpdate: what the cache has is tried first", Upstream: "CacheDelegator.GuaranteedUpdate", File: "apiserver/pkg/storage/cacher/delegator.go"},
	CacherDelete:       {Name: "cacher.delete", Layer: LayerCacher, Title: "CacheDelegator.Delete: what the cache has is tried first", Upstream: "CacheDelegator.Delete", File: "apiserver/pkg/storage/cacher/delegator.go"},
	CacherWait:         {Name: "cacher.wait", Layer: LayerCacher, Title: "wait until the cache has seen a revision", Upstream: "watchCache.waitUntilFreshAndBlock", File: "apiserver/pkg/storage/cacher/watch_cache.go"},
	CacherReflect:      {Name: "cacher.reflect", Layer: LayerCacher, Title: "the cache gets etcd's event", Upstream: "Reflector.watchHandler", File: "client-go/tools/cache/reflector.go", Mark: true},
	CacherProcessEvent: {Name: "cacher.process-event", Layer: LayerCacher, Title: "the event becomes part of the state and of the history", Upstream: "watchCache.processEvent", File: "apiserver/pkg/storage/cacher/watch_cache.go", Mark: true},
	CacherDispatch:     {Name: "cacher.dispatch", Layer: LayerCacher, Title: "the event goes to the watchers that it is for", Upstream: "Cacher.dispatchEvents", File: "apiserver/pkg/storage/cacher/cacher.go", Mark: true},

	Etcd3Get:    {Name: "etcd3.get", Layer: LayerEtcd3, Title: "etcd3 store.Get", Upstream: "store.Get", File: "apiserver/pkg/storage/etcd3/store.go"},
	Etcd3List:   {Name: "etcd3.list", Layer: LayerEtcd3, Title: "etcd3 store.GetList", Upstream: "store.GetList", File: "apiserver/pkg/storage/etcd3/store.go"},
	Etcd3Watch:  {Name: "etcd3.watch", Layer: LayerEtcd3, Title: "etcd3 store.Watch", Upstream: "store.Watch", File: "apiserver/pkg/storage/etcd3/store.go"},
	Etcd3Create: {Name: "etcd3.create", Layer: LayerEtcd3, Title: "etcd3 store.Create", Upstream: "store.Create", File: "apiserver/pkg/storage/etcd3/store.go"},
	Etcd3Update: {Name: "etcd3.update", Layer: LayerEtcd3, Title: "etcd3 store.GuaranteedUpdate", Upstream: "store.GuaranteedUpdate", File: "apiserver/pkg/storage/etcd3/store.go"},
	Etcd3Delete: {Name: "etcd3.delete", Layer: LayerEtcd3, Title: "etcd3 store.Delete", Upstream: "store.Delete", File: "apiserver/pkg/storage/etcd3/store.go"},
	Etcd3Decode: {Name: "etcd3.decode", Layer: LayerEtcd3, Title: "make an object of stored bytes", Upstream: "decoder.Decode", File: "apiserver/pkg/storage/etcd3/decoder.go"},
	Etcd3Encode: {Name: "etcd3.encode", Layer: LayerEtcd3, Title: "make bytes to store of an object", Upstream: "runtime.Encode", File: "apiserver/pkg/storage/etcd3/store.go"},
	Etcd3Event:  {Name: "etcd3.event", Layer: LayerEtcd3, Title: "make a watch event of etcd's", Upstream: "watchChan.transform", File: "apiserver/pkg/storage/etcd3/watcher.go", Mark: true},

	TransformFromStorage: {Name: "transform.from-storage", Layer: LayerTransform, Title: "TransformFromStorage", Upstream: "Transformer.TransformFromStorage", File: "apiserver/pkg/storage/value/transformer.go"},
	TransformToStorage:   {Name: "transform.to-storage", Layer: LayerTransform, Title: "TransformToStorage", Upstream: "Transformer.TransformToStorage", File: "apiserver/pkg/storage/value/transformer.go"},

	EtcdGet:         {Name: "etcd.get", Layer: LayerEtcd, Title: "KV.Get of one key", Upstream: "KV.Get", File: "go.etcd.io/etcd/client/v3/kv.go", Fails: true},
	EtcdKeyRevision: {Name: "etcd.key-revision", Layer: LayerEtcd, Title: "KV.Get of one key's revision", Upstream: "KV.Get", File: "go.etcd.io/etcd/client/v3/kv.go", Fails: true},
	EtcdRange:       {Name: "etcd.range", Layer: LayerEtcd, Title: "KV.Get of a range of keys", Upstream: "KV.Get", File: "go.etcd.io/etcd/client/v3/kv.go", Fails: true},
	EtcdTxn:         {Name: "etcd.txn", Layer: LayerEtcd, Title: "KV.Txn", Upstream: "KV.Txn", File: "go.etcd.io/etcd/client/v3/kv.go", Fails: true},
	EtcdWatch:       {Name: "etcd.watch", Layer: LayerEtcd, Title: "Watcher.Watch", Upstream: "Watcher.Watch", File: "go.etcd.io/etcd/client/v3/watch.go"},
	EtcdLease:       {Name: "etcd.lease", Layer: LayerEtcd, Title: "Lease.Grant", Upstream: "Lease.Grant", File: "go.etcd.io/etcd/client/v3/lease.go", Fails: true},
}
