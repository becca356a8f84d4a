package steps

// The steps. The code takes each at one place, and each occurs in a transcript.
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
	FilterPriorityAndFairness
	FilterInFlight
	FilterAuthorization

	HandlerAggregate
	HandlerRoute
	HandlerMethodNotSupported
	HandlerNotFound
	HandlerMetrics

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
	HandlerConnect
	HandlerProxy
	HandlerStream
	HandlerNamer
	HandlerMediaType
	HandlerOptions
	HandlerDecode
	HandlerDefault
	HandlerConvert
	HandlerMutate
	HandlerAdmit
	HandlerValidate
	HandlerApprove
	HandlerWebhook
	HandlerPolicy
	HandlerApplyPatch
	HandlerApply
	HandlerManagedFields
	HandlerTransform
	HandlerTable
	HandlerEncode
	HandlerWatchEvent

	CRDPrune
	CRDDefault
	CRDValidate
	CRDCEL
	ControllerDecide

	RESTGet
	RESTList
	RESTWatch
	RESTCreate
	RESTUpdate
	RESTDelete
	RESTDeleteCollection
	RESTConnect
	StatusGet
	StatusUpdate
	ScaleGet
	ScaleUpdate
	RollbackCreate
	CustomGet
	CustomStatusGet
	CustomStatusUpdate
	CustomScaleGet
	CustomScaleUpdate
	PodEvict
	PodCheckBudget
	TokenCreate
	TokenSign
	KubeletLocate

	StoreKey
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
	StoreBegin
	StoreGrant
	StoreAfter
	StoreDecorate
	StoreInterpretError
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
	Etcd3NotFound
	Etcd3Lease
	Etcd3Decode
	Etcd3Encode
	Etcd3Event
	Etcd3Metrics

	TransformFromStorage
	TransformToStorage

	EtcdGet
	EtcdKeyRevision
	EtcdRange
	EtcdTxn
	EtcdWatch
	EtcdLease

	InstallAPIs
	InstallProvider
	InstallLegacy
	InstallGroups
	InstallResources
	InstallVersion
	InstallHandlers
	InstallVerb
	InstallDefinition
	InstallSchema
	InstallServed

	StorageComplete
	StorageOptions
	StorageCacher
	StorageUndecorated
	StorageRaw
	StorageFactory
	StorageEtcd3

	// Count is the number of IDs, with that of no step.
	Count
)

var table = [Count]Info{
	FilterAuditInit: {Name: "filter.audit-init", Layer: LayerFilter, Title: "give the request an audit ID",
		Upstream: kubernetes("WithAuditInit", "apiserver/pkg/endpoints/filters/audit_init.go")},
	FilterPanicRecovery: {Name: "filter.panic-recovery", Layer: LayerFilter, Title: "turn a panic into a 500",
		Upstream: kubernetes("WithPanicRecovery", "apiserver/pkg/server/filters/wrap.go")},
	FilterRequestInfo: {Name: "filter.request-info", Layer: LayerFilter, Title: "read verb, resource and name from the path",
		Upstream: kubernetes("WithRequestInfo", "apiserver/pkg/endpoints/filters/requestinfo.go")},
	FilterLatency: {Name: "filter.latency", Layer: LayerFilter, Title: "start the clocks",
		Upstream: kubernetes("WithLatencyTrackers", "apiserver/pkg/endpoints/filters/webhook_duration.go")},
	FilterWaitGroup: {Name: "filter.wait-group", Layer: LayerFilter,
		Title: "count the request as under way, for an orderly stop", Upstream: kubernetes("WithWaitGroup",
			"apiserver/pkg/server/filters/waitgroup.go")},
	FilterDeadline: {Name: "filter.deadline", Layer: LayerFilter, Title: "set the deadline",
		Upstream: kubernetes("WithRequestDeadline", "apiserver/pkg/endpoints/filters/request_deadline.go")},
	FilterWarnings: {Name: "filter.warnings", Layer: LayerFilter, Title: "collect Warning headers",
		Upstream: kubernetes("WithWarningRecorder", "apiserver/pkg/endpoints/filters/warning.go")},
	FilterCORS: {Name: "filter.cors", Layer: LayerFilter, Title: "answer browsers of other origins",
		Upstream: kubernetes("WithCORS", "apiserver/pkg/server/filters/cors.go")},
	FilterAuthentication: {Name: "filter.authentication", Layer: LayerFilter, Title: "find out who asks",
		Upstream: kubernetes("WithAuthentication", "apiserver/pkg/endpoints/filters/authentication.go")},
	FilterTracing: {Name: "filter.tracing", Layer: LayerFilter, Title: "decide how much of the journey is recorded",
		Upstream: kubernetes("WithTracing", "apiserver/pkg/endpoints/filters/traces.go")},
	FilterAudit: {Name: "filter.audit", Layer: LayerFilter, Title: "decide what the audit log says",
		Upstream: kubernetes("WithAudit", "apiserver/pkg/endpoints/filters/audit.go")},
	FilterImpersonation: {Name: "filter.impersonation", Layer: LayerFilter, Title: "act as somebody else, if asked and allowed",
		Upstream: kubernetes("WithImpersonation", "apiserver/pkg/endpoints/filters/impersonation/impersonation.go")},
	FilterPriorityAndFairness: {Name: "filter.priority-and-fairness", Layer: LayerFilter,
		Title: "take a seat of its priority level, or wait, or answer 429", Upstream: kubernetes("WithPriorityAndFairness",
			"apiserver/pkg/server/filters/priority-and-fairness.go")},
	FilterInFlight: {Name: "filter.in-flight", Layer: LayerFilter, Title: "take a seat, or answer 429",
		Upstream: kubernetes("WithMaxInFlightLimit", "apiserver/pkg/server/filters/maxinflight.go")},
	FilterAuthorization: {Name: "filter.authorization", Layer: LayerFilter, Title: "find out whether they may",
		Upstream: kubernetes("WithAuthorization", "apiserver/pkg/endpoints/filters/authorization.go")},

	HandlerAggregate: {Name: "handler.aggregate", Layer: LayerHandler,
		Title: "leave the request to the server that an APIService names", Upstream: kubernetes("proxyHandler.ServeHTTP",
			"kube-aggregator/pkg/apiserver/handler_proxy.go"), Waits: true},
	HandlerRoute: {Name: "handler.route", Layer: LayerHandler, Title: "take the path, or leave it to the next server",
		Upstream: kubernetes("director.ServeHTTP", "apiserver/pkg/server/handler.go"), Fine: true},
	HandlerMethodNotSupported: {Name: "handler.method-not-supported", Layer: LayerHandler, Title: "refuse a verb that is not there",
		Upstream: kubernetes("NewMethodNotSupported", "apimachinery/pkg/api/errors/errors.go")},
	HandlerNotFound: {Name: "handler.not-found", Layer: LayerHandler, Title: "the end of the chain: no server has the path",
		Upstream: kubernetes("Handler.ServeHTTP", "apiserver/pkg/util/notfoundhandler/not_found_handler.go")},
	HandlerMetrics: {Name: "handler.metrics", Layer: LayerHandler,
		Title: "count the request in the metrics, once it is answered", Upstream: kubernetes("InstrumentHandlerFunc",
			"apiserver/pkg/endpoints/metrics/metrics.go"), Fine: true},

	CRDServe: {Name: "crd.serve", Layer: LayerHandler, Title: "find the CustomResourceDefinition that the request is about",
		Upstream: kubernetes("crdHandler.ServeHTTP", "apiextensions-apiserver/pkg/apiserver/customresource_handler.go")},
	CRDInfo: {Name: "crd.info", Layer: LayerHandler, Title: "find or make what serves the definition",
		Upstream: kubernetes("crdHandler.getOrCreateServingInfoFor", "apiextensions-apiserver/pkg/apiserver/customresource_handler.go")},
	CRDServeResource: {Name: "crd.serve-resource", Layer: LayerHandler, Title: "serveResource",
		Upstream: kubernetes("crdHandler.serveResource", "apiextensions-apiserver/pkg/apiserver/customresource_handler.go")},
	CRDServeStatus: {Name: "crd.serve-status", Layer: LayerHandler, Title: "serveStatus",
		Upstream: kubernetes("crdHandler.serveStatus", "apiextensions-apiserver/pkg/apiserver/customresource_handler.go")},
	CRDServeScale: {Name: "crd.serve-scale", Layer: LayerHandler, Title: "serveScale",
		Upstream: kubernetes("crdHandler.serveScale", "apiextensions-apiserver/pkg/apiserver/customresource_handler.go")},

	HandlerGet: {Name: "handler.get", Layer: LayerHandler, Title: "getResourceHandler",
		Upstream: kubernetes("getResourceHandler", "apiserver/pkg/endpoints/handlers/get.go"), PerVerb: true},
	HandlerList: {Name: "handler.list", Layer: LayerHandler, Title: "ListResource",
		Upstream: kubernetes("ListResource", "apiserver/pkg/endpoints/handlers/get.go"), PerVerb: true},
	HandlerWatch: {Name: "handler.watch", Layer: LayerHandler, Title: "serveWatchHandler",
		Upstream: kubernetes("serveWatchHandler", "apiserver/pkg/endpoints/handlers/watch.go"), PerVerb: true},
	HandlerCreate: {Name: "handler.create", Layer: LayerHandler, Title: "createHandler",
		Upstream: kubernetes("createHandler", "apiserver/pkg/endpoints/handlers/create.go"), PerVerb: true},
	HandlerUpdate: {Name: "handler.update", Layer: LayerHandler, Title: "UpdateResource",
		Upstream: kubernetes("UpdateResource", "apiserver/pkg/endpoints/handlers/update.go"), PerVerb: true},
	HandlerPatch: {Name: "handler.patch", Layer: LayerHandler, Title: "PatchResource",
		Upstream: kubernetes("PatchResource", "apiserver/pkg/endpoints/handlers/patch.go"), PerVerb: true},
	HandlerDelete: {Name: "handler.delete", Layer: LayerHandler, Title: "DeleteResource",
		Upstream: kubernetes("DeleteResource", "apiserver/pkg/endpoints/handlers/delete.go"), PerVerb: true},
	HandlerDeleteCollection: {Name: "handler.deletecollection", Layer: LayerHandler, Title: "DeleteCollection",
		Upstream: kubernetes("DeleteCollection", "apiserver/pkg/endpoints/handlers/delete.go"), PerVerb: true},
	HandlerConnect: {Name: "handler.connect", Layer: LayerHandler, Title: "ConnectResource",
		Upstream: kubernetes("ConnectResource", "apiserver/pkg/endpoints/handlers/rest.go"), PerVerb: true},
	HandlerProxy: {Name: "handler.proxy", Layer: LayerHandler, Title: "pass the request on, and the answer back",
		Upstream: kubernetes("UpgradeAwareHandler.ServeHTTP", "apimachinery/pkg/util/proxy/upgradeaware.go"), Waits: true},
	HandlerStream: {Name: "handler.stream", Layer: LayerHandler, Title: "pass a stream on to the client",
		Upstream: kubernetes("StreamObject", "apiserver/pkg/endpoints/handlers/responsewriters/writers.go"), Waits: true},
	HandlerNamer: {Name: "handler.namer", Layer: LayerHandler, Title: "ContextBasedNaming.Name",
		Upstream: kubernetes("ContextBasedNaming.Name", "apiserver/pkg/endpoints/handlers/namer.go"), Fine: true},
	HandlerMediaType: {Name: "handler.media-type", Layer: LayerHandler, Title: "NegotiateOutputMediaType",
		Upstream: kubernetes("NegotiateOutputMediaType", "apiserver/pkg/endpoints/handlers/negotiation/negotiate.go"), Fine: true},
	HandlerOptions: {Name: "handler.options", Layer: LayerHandler, Title: "decode the options of the verb",
		Upstream: kubernetes("ParameterCodec.DecodeParameters", "apimachinery/pkg/runtime/interfaces.go"), Fine: true},
	HandlerDecode: {Name: "handler.decode", Layer: LayerHandler, Title: "make an object of the body",
		Upstream: kubernetes("Decoder.Decode", "apimachinery/pkg/runtime/interfaces.go"), Object: Object{Who: "the client", Input: Body,
			Shapes: true}},
	HandlerDefault: {Name: "handler.default", Layer: LayerHandler, Title: "set the defaults of the version",
		Upstream: kubernetes("Scheme.Default",
			"apimachinery/pkg/runtime/scheme.go"), Object: Object{Who: "a default of the version that it sent", Shapes: true}},
	HandlerConvert: {Name: "handler.convert", Layer: LayerHandler,
		Title: "convert between the request's version and the stored one", Upstream: kubernetes("Scheme.ConvertToVersion",
			"apimachinery/pkg/runtime/scheme.go"), Object: Object{Who: "conversion to another version"}},
	HandlerMutate: {Name: "handler.mutate", Layer: LayerHandler, Title: "mutating admission",
		Upstream: kubernetes("chainAdmissionHandler.Admit",
			"apiserver/pkg/admission/chain.go"), Fails: true, Object: Object{Who: "mutating admission", Shapes: true}},
	HandlerAdmit: {Name: "handler.admit", Layer: LayerHandler, Title: "an admission plugin may change it",
		Upstream: kubernetes("MutationInterface.Admit",
			"apiserver/pkg/admission/interfaces.go"), Fails: true,
		Object: Object{Who: "an admission plugin", OneOfMany: true, Shapes: true}},
	HandlerValidate: {Name: "handler.validate", Layer: LayerHandler, Title: "validating admission",
		Upstream: kubernetes("chainAdmissionHandler.Validate", "apiserver/pkg/admission/chain.go"), Fails: true},
	HandlerApprove: {Name: "handler.approve", Layer: LayerHandler, Title: "an admission plugin may refuse it",
		Upstream: kubernetes("ValidationInterface.Validate", "apiserver/pkg/admission/interfaces.go"), Fails: true},
	HandlerWebhook: {Name: "handler.webhook", Layer: LayerHandler, Title: "ask an admission webhook",
		Upstream: kubernetes("mutatingDispatcher.callAttrMutatingHook",
			"apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go"), Fails: true, Waits: true,
		Object: Object{Who: "a webhook", OneOfMany: true, Shapes: true}},
	HandlerPolicy: {Name: "handler.policy", Layer: LayerHandler, Title: "evaluate an admission policy",
		Upstream: kubernetes("validator.Validate",
			"apiserver/pkg/admission/plugin/policy/validating/validator.go"), Fails: true,
		Object: Object{Who: "an admission policy", OneOfMany: true, Shapes: true}},
	HandlerApplyPatch: {Name: "handler.apply-patch", Layer: LayerHandler, Title: "apply the patch to the present state",
		Upstream: kubernetes("patchMechanism.applyPatchToCurrentObject",
			"apiserver/pkg/endpoints/handlers/patch.go"), Object: Object{Who: "the client, by its patch", Input: Patch, Shapes: true}},
	HandlerApply: {Name: "handler.apply", Layer: LayerHandler, Title: "merge what the client applies with the present state",
		Upstream: kubernetes("applyPatcher.applyPatchToCurrentObject",
			"apiserver/pkg/endpoints/handlers/patch.go"),
		Object: Object{Who: "the client, by what it applied", Input: Patch, Shapes: true}},
	HandlerManagedFields: {Name: "handler.managed-fields", Layer: LayerHandler, Title: "note who owns which field",
		Upstream: kubernetes("FieldManager.UpdateNoErrors",
			"apimachinery/pkg/util/managedfields/internal/fieldmanager.go"),
		Object: Object{Who: "the bookkeeping of who manages which field", Fields: []string{"metadata.managedFields"},
			Shapes: true}},
	HandlerTransform: {Name: "handler.transform", Layer: LayerHandler, Title: "doTransformObject",
		Upstream: kubernetes("doTransformObject", "apiserver/pkg/endpoints/handlers/response.go"), Fine: true},
	HandlerTable: {Name: "handler.table", Layer: LayerHandler, Title: "make rows of it",
		Upstream: kubernetes("asTable", "apiserver/pkg/endpoints/handlers/response.go")},
	HandlerEncode: {Name: "handler.encode", Layer: LayerHandler, Title: "write the response",
		Upstream: kubernetes("transformResponseObject", "apiserver/pkg/endpoints/handlers/response.go")},
	HandlerWatchEvent: {Name: "handler.watch-event", Layer: LayerHandler, Title: "send one event to the watcher",
		Upstream: kubernetes("WatchServer.HandleHTTP", "apiserver/pkg/endpoints/handlers/watch.go"), Fails: true},

	CRDPrune: {Name: "crd.prune", Layer: LayerHandler, Title: "drop the fields that the schema does not know",
		Upstream: kubernetes("schemaCoercingDecoder.Decode",
			"apiextensions-apiserver/pkg/apiserver/customresource_handler.go"),
		Object: Object{Who: "pruning of what the schema does not have", Shapes: true}},
	CRDDefault: {Name: "crd.default", Layer: LayerHandler, Title: "set the schema's defaults",
		Upstream: kubernetes("unstructuredDefaulter.Default",
			"apiextensions-apiserver/pkg/apiserver/customresource_handler.go"),
		Object: Object{Who: "a default of the schema", Shapes: true}},
	CRDValidate: {Name: "crd.validate", Layer: LayerHandler, Title: "check the object by its schema",
		Upstream: kubernetes("customResourceStrategy.Validate",
			"apiextensions-apiserver/pkg/registry/customresource/strategy.go"), Object: Object{Compares: true}},
	CRDCEL: {Name: "crd.cel", Layer: LayerHandler, Title: "evaluate a rule of the schema",
		Upstream: kubernetes("Validator.Validate", "apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go")},

	ControllerDecide: {Name: "controller.decide", Layer: LayerHandler, Title: "decide what is to be done, which no client asked for",
		Upstream: apiserver("GarbageCollector.attemptToDeleteItem", "pkg/controller/garbagecollector/garbagecollector.go")},

	RESTGet: {Name: "rest.get", Layer: LayerREST, Title: "REST.Get",
		Upstream: kubernetes("Getter.Get", "apiserver/pkg/registry/rest/rest.go"), Fails: true, PerVerb: true},
	RESTList: {Name: "rest.list", Layer: LayerREST, Title: "REST.List",
		Upstream: kubernetes("Lister.List", "apiserver/pkg/registry/rest/rest.go"), Fails: true, PerVerb: true},
	RESTWatch: {Name: "rest.watch", Layer: LayerREST, Title: "REST.Watch",
		Upstream: kubernetes("Watcher.Watch", "apiserver/pkg/registry/rest/rest.go"), Fails: true, PerVerb: true},
	RESTCreate: {Name: "rest.create", Layer: LayerREST, Title: "REST.Create", Upstream: kubernetes("Creater.Create",
		"apiserver/pkg/registry/rest/rest.go"), Fails: true, PerVerb: true, Object: Object{TakesOver: true, Shapes: true}},
	RESTUpdate: {Name: "rest.update", Layer: LayerREST, Title: "REST.Update", Upstream: kubernetes("Updater.Update",
		"apiserver/pkg/registry/rest/rest.go"), Fails: true, PerVerb: true, Object: Object{TakesOver: true}},
	RESTDelete: {Name: "rest.delete", Layer: LayerREST, Title: "REST.Delete",
		Upstream: kubernetes("GracefulDeleter.Delete", "apiserver/pkg/registry/rest/rest.go"), Fails: true, PerVerb: true},
	RESTDeleteCollection: {Name: "rest.deletecollection", Layer: LayerREST, Title: "REST.DeleteCollection",
		Upstream: kubernetes("CollectionDeleter.DeleteCollection", "apiserver/pkg/registry/rest/rest.go"), Fails: true, PerVerb: true},

	RESTConnect: {Name: "rest.connect", Layer: LayerREST, Title: "REST.Connect",
		Upstream: kubernetes("Connecter.Connect", "apiserver/pkg/registry/rest/rest.go"), Fails: true, PerVerb: true},

	StatusGet: {Name: "rest.status-get", Layer: LayerREST, Title: "StatusREST.Get",
		Upstream: apiserver("StatusREST.Get", "pkg/registry/apps/deployment/storage/storage.go")},
	StatusUpdate: {Name: "rest.status-update", Layer: LayerREST, Title: "StatusREST.Update",
		Upstream: apiserver("StatusREST.Update", "pkg/registry/apps/deployment/storage/storage.go")},
	ScaleGet: {Name: "rest.scale-get", Layer: LayerREST, Title: "ScaleREST.Get",
		Upstream: apiserver("ScaleREST.Get", "pkg/registry/apps/deployment/storage/storage.go")},
	ScaleUpdate: {Name: "rest.scale-update", Layer: LayerREST, Title: "ScaleREST.Update",
		Upstream: apiserver("ScaleREST.Update", "pkg/registry/apps/deployment/storage/storage.go")},
	RollbackCreate: {Name: "rest.rollback", Layer: LayerREST, Title: "RollbackREST.Create",
		Upstream: apiserver("RollbackREST.Create", "pkg/registry/apps/deployment/storage/storage.go")},
	CustomGet: {Name: "crd.rest-get", Layer: LayerREST, Title: "CustomResourceStorage.CustomResource: REST.Get",
		Upstream: kubernetes("REST", "apiextensions-apiserver/pkg/registry/customresource/etcd.go")},
	CustomStatusGet: {Name: "crd.status-get", Layer: LayerREST, Title: "CustomResourceStorage.Status: StatusREST.Get",
		Upstream: kubernetes("StatusREST.Get", "apiextensions-apiserver/pkg/registry/customresource/etcd.go")},
	CustomStatusUpdate: {Name: "crd.status-update", Layer: LayerREST, Title: "CustomResourceStorage.Status: StatusREST.Update",
		Upstream: kubernetes("StatusREST.Update", "apiextensions-apiserver/pkg/registry/customresource/etcd.go")},
	CustomScaleGet: {Name: "crd.scale-get", Layer: LayerREST, Title: "CustomResourceStorage.Scale: ScaleREST.Get",
		Upstream: kubernetes("ScaleREST.Get", "apiextensions-apiserver/pkg/registry/customresource/etcd.go")},
	CustomScaleUpdate: {Name: "crd.scale-update", Layer: LayerREST, Title: "CustomResourceStorage.Scale: ScaleREST.Update",
		Upstream: kubernetes("ScaleREST.Update", "apiextensions-apiserver/pkg/registry/customresource/etcd.go")},

	PodEvict: {Name: "rest.evict", Layer: LayerREST, Title: "EvictionREST.Create",
		Upstream: apiserver("EvictionREST.Create", "pkg/registry/core/pod/storage/eviction.go")},
	PodCheckBudget: {Name: "rest.check-budget", Layer: LayerREST, Title: "EvictionREST.checkAndDecrement: may one more pod go?",
		Upstream: apiserver("EvictionREST.checkAndDecrement", "pkg/registry/core/pod/storage/eviction.go")},
	TokenCreate: {Name: "rest.token", Layer: LayerREST, Title: "TokenREST.Create",
		Upstream: apiserver("TokenREST.Create", "pkg/registry/core/serviceaccount/storage/token.go")},
	TokenSign: {Name: "rest.sign-token", Layer: LayerREST, Title: "sign a token of the service account",
		Upstream: apiserver("jwtTokenGenerator.GenerateToken", "pkg/serviceaccount/jwt.go")},
	KubeletLocate: {Name: "rest.locate-kubelet", Layer: LayerREST, Title: "find the address of the node's kubelet",
		Upstream: apiserver("NodeConnectionInfoGetter.GetConnectionInfo", "pkg/kubelet/client/kubelet_client.go")},

	StoreKey: {Name: "store.key", Layer: LayerStore, Title: "KeyFunc",
		Upstream: kubernetes("NamespaceKeyFunc", "apiserver/pkg/registry/generic/registry/store.go"), Fine: true},
	StoreGet: {Name: "store.get", Layer: LayerStore, Title: "Store.Get",
		Upstream: kubernetes("Store.Get", "apiserver/pkg/registry/generic/registry/store.go"), PerVerb: true},
	StoreList: {Name: "store.list", Layer: LayerStore, Title: "Store.List",
		Upstream: kubernetes("Store.ListPredicate", "apiserver/pkg/registry/generic/registry/store.go"), PerVerb: true},
	StoreWatch: {Name: "store.watch", Layer: LayerStore, Title: "Store.Watch",
		Upstream: kubernetes("Store.WatchPredicate", "apiserver/pkg/registry/generic/registry/store.go"), PerVerb: true},
	StoreCreate: {Name: "store.create", Layer: LayerStore, Title: "Store.Create",
		Upstream: kubernetes("Store.create", "apiserver/pkg/registry/generic/registry/store.go"), PerVerb: true},
	StoreUpdate: {Name: "store.update", Layer: LayerStore, Title: "Store.Update",
		Upstream: kubernetes("Store.Update", "apiserver/pkg/registry/generic/registry/store.go"), PerVerb: true},
	StoreDelete: {Name: "store.delete", Layer: LayerStore, Title: "Store.Delete",
		Upstream: kubernetes("Store.Delete", "apiserver/pkg/registry/generic/registry/store.go"), PerVerb: true},
	StoreDeleteCollection: {Name: "store.deletecollection", Layer: LayerStore, Title: "Store.DeleteCollection",
		Upstream: kubernetes("Store.DeleteCollection", "apiserver/pkg/registry/generic/registry/store.go"), PerVerb: true},
	StoreBeforeCreate: {Name: "store.before-create", Layer: LayerStore, Title: "BeforeCreate: system fields, the strategy, validation",
		Upstream: kubernetes("BeforeCreate", "apiserver/pkg/registry/rest/create.go"), Edits: true,
		Object: Object{Who: "the server, before the create", Shapes: true}},
	StoreBeforeUpdate: {Name: "store.before-update", Layer: LayerStore, Title: "BeforeUpdate: the strategy, validation",
		Upstream: kubernetes("BeforeUpdate", "apiserver/pkg/registry/rest/update.go"), Edits: true,
		Object: Object{Who: "the server, before the update", Shapes: true}},
	StorePrepare: {Name: "store.prepare", Layer: LayerStore, Title: "the resource's strategy puts it in order",
		Upstream: kubernetes("RESTCreateStrategy.PrepareForCreate",
			"apiserver/pkg/registry/rest/create.go"), Object: Object{Who: "the resource's strategy", OneOfMany: true, Shapes: true}},
	StoreBeforeDelete: {Name: "store.before-delete", Layer: LayerStore, Title: "BeforeDelete: preconditions, grace, propagation",
		Upstream: kubernetes("BeforeDelete", "apiserver/pkg/registry/rest/delete.go")},
	StoreTryUpdate: {Name: "store.try-update", Layer: LayerStore, Title: "the storage calls back up: what is the next state?",
		Upstream: kubernetes("UpdateFunc", "apiserver/pkg/storage/interfaces.go"), Fails: true,
		Object: Object{Who: "what the client sent takes the place of what was stored", TakesOver: true, Shapes: true}},
	StoreBegin: {Name: "store.begin", Layer: LayerStore, Title: "the resource's Begin hook, before the write",
		Upstream: kubernetes("BeginCreateFunc",
			"apiserver/pkg/registry/generic/registry/store.go"),
		Object: Object{Who: "the resource's Begin hook", OneOfMany: true, Shapes: true}},
	StoreGrant: {Name: "store.grant", Layer: LayerStore, Title: "compare what is granted with what the user has",
		Upstream: apiserver("ConfirmNoEscalation", "pkg/registry/rbac/validation/rule.go")},
	StoreAfter: {Name: "store.after", Layer: LayerStore, Title: "the resource's After hook, behind the write",
		Upstream: kubernetes("AfterDeleteFunc", "apiserver/pkg/registry/generic/registry/store.go")},
	StoreDecorate: {Name: "store.decorate", Layer: LayerStore, Title: "Decorator: change the object on its way out",
		Upstream: kubernetes("Store.Decorator",
			"apiserver/pkg/registry/generic/registry/store.go"), Object: Object{Who: "the resource's Decorator"}},
	StoreInterpretError: {Name: "store.interpret-error", Layer: LayerStore, Title: "make an API error of the storage's",
		Upstream: kubernetes("InterpretGetError", "apiserver/pkg/storage/errors/storage.go")},
	CRDConvert: {Name: "crd.convert", Layer: LayerStore, Title: "convert custom resources to another version",
		Upstream: kubernetes("crConverter.ConvertToVersion",
			"apiextensions-apiserver/pkg/apiserver/conversion/converter.go"), Object: Object{Who: "conversion to another version"}},
	CRDWebhook: {Name: "crd.webhook", Layer: LayerStore, Title: "ask the conversion webhook",
		Upstream: kubernetes("webhookConverter.Convert",
			"apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go"), Fails: true,
		Object: Object{Who: "the conversion webhook"}},

	DryRunGet: {Name: "dryrun.get", Layer: LayerDryRun, Title: "DryRunnableStorage.Get",
		Upstream: kubernetes("DryRunnableStorage.Get", "apiserver/pkg/registry/generic/registry/dryrun.go"), PerVerb: true},
	DryRunList: {Name: "dryrun.list", Layer: LayerDryRun, Title: "DryRunnableStorage.GetList",
		Upstream: kubernetes("DryRunnableStorage.GetList", "apiserver/pkg/registry/generic/registry/dryrun.go"), PerVerb: true},
	DryRunWatch: {Name: "dryrun.watch", Layer: LayerDryRun, Title: "DryRunnableStorage.Watch",
		Upstream: kubernetes("DryRunnableStorage.Watch", "apiserver/pkg/registry/generic/registry/dryrun.go"), PerVerb: true},
	DryRunCreate: {Name: "dryrun.create", Layer: LayerDryRun, Title: "DryRunnableStorage.Create",
		Upstream: kubernetes("DryRunnableStorage.Create", "apiserver/pkg/registry/generic/registry/dryrun.go"), PerVerb: true},
	DryRunUpdate: {Name: "dryrun.update", Layer: LayerDryRun, Title: "DryRunnableStorage.GuaranteedUpdate",
		Upstream: kubernetes("DryRunnableStorage.GuaranteedUpdate", "apiserver/pkg/registry/generic/registry/dryrun.go"), PerVerb: true},
	DryRunDelete: {Name: "dryrun.delete", Layer: LayerDryRun, Title: "DryRunnableStorage.Delete",
		Upstream: kubernetes("DryRunnableStorage.Delete", "apiserver/pkg/registry/generic/registry/dryrun.go"), PerVerb: true},

	CacherGet: {Name: "cacher.get", Layer: LayerCacher, Title: "Cacher.Get",
		Upstream: kubernetes("CacheDelegator.Get", "apiserver/pkg/storage/cacher/delegator.go"), PerVerb: true},
	CacherList: {Name: "cacher.list", Layer: LayerCacher, Title: "Cacher.GetList",
		Upstream: kubernetes("CacheDelegator.GetList", "apiserver/pkg/storage/cacher/delegator.go"), PerVerb: true},
	CacherWatch: {Name: "cacher.watch", Layer: LayerCacher, Title: "Cacher.Watch",
		Upstream: kubernetes("Cacher.Watch", "apiserver/pkg/storage/cacher/cacher.go"), PerVerb: true},
	CacherUpdate: {Name: "cacher.update", Layer: LayerCacher,
		Title:    "CacheDelegator.GuaranteedUpdate: what the cache has is tried first",
		Upstream: kubernetes("CacheDelegator.GuaranteedUpdate", "apiserver/pkg/storage/cacher/delegator.go"), PerVerb: true},
	CacherDelete: {Name: "cacher.delete", Layer: LayerCacher, Title: "CacheDelegator.Delete: what the cache has is tried first",
		Upstream: kubernetes("CacheDelegator.Delete", "apiserver/pkg/storage/cacher/delegator.go"), PerVerb: true},
	CacherWait: {Name: "cacher.wait", Layer: LayerCacher, Title: "wait until the cache has seen a revision",
		Upstream: kubernetes("watchCache.waitUntilFreshLocked", "apiserver/pkg/storage/cacher/watch_cache.go"), Waits: true},
	CacherReflect: {Name: "cacher.reflect", Layer: LayerCacher, Title: "the cache gets etcd's event",
		Upstream: kubernetes("handleAnyWatch", "client-go/tools/cache/reflector.go"), Mark: true},
	CacherProcessEvent: {Name: "cacher.process-event", Layer: LayerCacher, Title: "the event becomes part of the state and of the history",
		Upstream: kubernetes("watchCache.processEvent", "apiserver/pkg/storage/cacher/watch_cache.go"), Mark: true},
	CacherDispatch: {Name: "cacher.dispatch", Layer: LayerCacher, Title: "the event goes to the watchers that it is for",
		Upstream: kubernetes("Cacher.dispatchEvents", "apiserver/pkg/storage/cacher/cacher.go"), Mark: true},

	Etcd3Get: {Name: "etcd3.get", Layer: LayerEtcd3, Title: "etcd3 store.Get",
		Upstream: kubernetes("store.Get", "apiserver/pkg/storage/etcd3/store.go"), PerVerb: true},
	Etcd3List: {Name: "etcd3.list", Layer: LayerEtcd3, Title: "etcd3 store.GetList",
		Upstream: kubernetes("store.GetList", "apiserver/pkg/storage/etcd3/store.go"), PerVerb: true},
	Etcd3Watch: {Name: "etcd3.watch", Layer: LayerEtcd3, Title: "etcd3 store.Watch",
		Upstream: kubernetes("store.Watch", "apiserver/pkg/storage/etcd3/store.go"), PerVerb: true},
	Etcd3Create: {Name: "etcd3.create", Layer: LayerEtcd3, Title: "etcd3 store.Create",
		Upstream: kubernetes("store.Create", "apiserver/pkg/storage/etcd3/store.go"), PerVerb: true},
	Etcd3Update: {Name: "etcd3.update", Layer: LayerEtcd3, Title: "etcd3 store.GuaranteedUpdate",
		Upstream: kubernetes("store.GuaranteedUpdate", "apiserver/pkg/storage/etcd3/store.go"), PerVerb: true},
	Etcd3Delete: {Name: "etcd3.delete", Layer: LayerEtcd3, Title: "etcd3 store.Delete",
		Upstream: kubernetes("store.Delete", "apiserver/pkg/storage/etcd3/store.go"), PerVerb: true},
	Etcd3NotFound: {Name: "etcd3.not-found", Layer: LayerEtcd3, Title: "nothing is stored at the key: an error, or tolerated",
		Upstream: kubernetes("NewKeyNotFoundError", "apiserver/pkg/storage/errors.go")},
	Etcd3Lease: {Name: "etcd3.lease", Layer: LayerEtcd3, Title: "leaseManager.GetLease: share the last lease, or get another",
		Upstream: kubernetes("leaseManager.GetLease", "apiserver/pkg/storage/etcd3/lease_manager.go")},
	Etcd3Decode: {Name: "etcd3.decode", Layer: LayerEtcd3, Title: "make an object of stored bytes",
		Upstream: kubernetes("defaultDecoder.Decode", "apiserver/pkg/storage/etcd3/decoder.go"), Object: Object{Who: "what is stored"}},
	Etcd3Encode: {Name: "etcd3.encode", Layer: LayerEtcd3, Title: "make bytes to store of an object",
		Upstream: kubernetes("Encode", "apimachinery/pkg/runtime/codec.go")},
	Etcd3Event: {Name: "etcd3.event", Layer: LayerEtcd3, Title: "make a watch event of etcd's",
		Upstream: kubernetes("watchChan.transform", "apiserver/pkg/storage/etcd3/watcher.go"), Mark: true},
	Etcd3Metrics: {Name: "etcd3.metrics", Layer: LayerEtcd3, Title: "record in the metrics how long etcd took",
		Upstream: kubernetes("RecordEtcdRequest", "apiserver/pkg/storage/etcd3/metrics/metrics.go"), Fine: true},

	TransformFromStorage: {Name: "transform.from-storage", Layer: LayerTransform, Title: "TransformFromStorage",
		Upstream: kubernetes("Read.TransformFromStorage", "apiserver/pkg/storage/value/transformer.go")},
	TransformToStorage: {Name: "transform.to-storage", Layer: LayerTransform, Title: "TransformToStorage",
		Upstream: kubernetes("Write.TransformToStorage", "apiserver/pkg/storage/value/transformer.go")},

	EtcdGet: {Name: "etcd.get", Layer: LayerEtcd, Title: "KV.Get of one key", Upstream: etcd("KV.Get", "client/v3/kv.go"),
		Fails: true},
	EtcdKeyRevision: {Name: "etcd.key-revision", Layer: LayerEtcd, Title: "KV.Get of one key's revision",
		Upstream: etcd("KV.Get", "client/v3/kv.go"), Fails: true},
	EtcdRange: {Name: "etcd.range", Layer: LayerEtcd, Title: "KV.Get of a range of keys",
		Upstream: etcd("KV.Get", "client/v3/kv.go"), Fails: true},
	EtcdTxn: {Name: "etcd.txn", Layer: LayerEtcd, Title: "KV.Txn", Upstream: etcd("KV.Txn", "client/v3/kv.go"), Fails: true,
		Object: Object{Who: "etcd, by the revision that it gave the write", Fields: []string{"metadata.resourceVersion"}}},
	EtcdWatch: {Name: "etcd.watch", Layer: LayerEtcd, Title: "Watcher.Watch", Upstream: etcd("Watcher.Watch", "client/v3/watch.go")},
	EtcdLease: {Name: "etcd.lease", Layer: LayerEtcd, Title: "Lease.Grant", Upstream: etcd("Lease.Grant", "client/v3/lease.go"),
		Fails: true},

	// The steps of installs, which no request takes: see Notes. Those that wait did their work for many resources.
	InstallAPIs: {Name: "install.apis", Layer: LayerHandler, Title: "InstallAPIs",
		Upstream: apiserver("Server.InstallAPIs", "pkg/controlplane/apiserver/apis.go"), Waits: true},
	InstallProvider: {Name: "install.provider", Layer: LayerHandler, Title: "NewRESTStorage",
		Upstream: apiserver("RESTStorageProvider.NewRESTStorage", "pkg/controlplane/apiserver/apis.go"), Waits: true},
	InstallLegacy: {Name: "install.legacy", Layer: LayerHandler, Title: "InstallLegacyAPIGroup",
		Upstream: kubernetes("GenericAPIServer.InstallLegacyAPIGroup", "apiserver/pkg/server/genericapiserver.go"), Waits: true},
	InstallGroups: {Name: "install.groups", Layer: LayerHandler, Title: "InstallAPIGroups",
		Upstream: kubernetes("GenericAPIServer.InstallAPIGroups", "apiserver/pkg/server/genericapiserver.go"), Waits: true},
	InstallResources: {Name: "install.resources", Layer: LayerHandler, Title: "GenericAPIServer.installAPIResources",
		Upstream: kubernetes("GenericAPIServer.installAPIResources", "apiserver/pkg/server/genericapiserver.go"), Waits: true},
	InstallVersion: {Name: "install.version", Layer: LayerHandler, Title: "InstallREST",
		Upstream: kubernetes("APIGroupVersion.InstallREST", "apiserver/pkg/endpoints/groupversion.go"), Waits: true},
	InstallHandlers: {Name: "install.handlers", Layer: LayerHandler, Title: "registerResourceHandlers",
		Upstream: kubernetes("APIInstaller.registerResourceHandlers", "apiserver/pkg/endpoints/installer.go")},
	InstallVerb: {Name: "install.verb", Layer: LayerHandler, Title: "type assertion for",
		Upstream: kubernetes("appendIf", "apiserver/pkg/endpoints/installer.go")},
	InstallDefinition: {Name: "install.definition", Layer: LayerHandler, Title: "make what serves the definition",
		Upstream: kubernetes("crdHandler.getOrCreateServingInfoFor", "apiextensions-apiserver/pkg/apiserver/customresource_handler.go")},
	InstallSchema: {Name: "install.schema", Layer: LayerHandler, Title: "compile the schema of a version",
		Upstream: kubernetes("NewStructural", "apiextensions-apiserver/pkg/apiserver/schema/convert.go")},
	InstallServed: {Name: "install.served", Layer: LayerHandler, Title: "make the handlers of a version",
		Upstream: kubernetes("crdHandler.getOrCreateServingInfoFor", "apiextensions-apiserver/pkg/apiserver/customresource_handler.go")},

	StorageComplete: {Name: "storage.complete", Layer: LayerStore, Title: "Store.CompleteWithOptions",
		Upstream: kubernetes("Store.CompleteWithOptions", "apiserver/pkg/registry/generic/registry/store.go")},
	StorageOptions: {Name: "storage.options", Layer: LayerStore, Title: "GetRESTOptions",
		Upstream: kubernetes("StorageFactoryRestOptionsFactory.GetRESTOptions", "apiserver/pkg/server/options/etcd.go")},
	StorageCacher: {Name: "storage.cacher", Layer: LayerCacher, Title: "StorageWithCacher",
		Upstream: kubernetes("StorageWithCacher", "apiserver/pkg/registry/generic/registry/storage_factory.go")},
	StorageUndecorated: {Name: "storage.undecorated", Layer: LayerCacher, Title: "UndecoratedStorage",
		Upstream: kubernetes("UndecoratedStorage", "apiserver/pkg/registry/generic/storage_decorator.go")},
	StorageRaw: {Name: "storage.raw", Layer: LayerEtcd3, Title: "NewRawStorage",
		Upstream: kubernetes("NewRawStorage", "apiserver/pkg/registry/generic/storage_decorator.go")},
	StorageFactory: {Name: "storage.factory", Layer: LayerEtcd3, Title: "factory.Create",
		Upstream: kubernetes("Create", "apiserver/pkg/storage/storagebackend/factory/factory.go")},
	StorageEtcd3: {Name: "storage.etcd3", Layer: LayerEtcd3, Title: "make the etcd3 store",
		Upstream: kubernetes("newETCD3Storage", "apiserver/pkg/storage/storagebackend/factory/etcd3.go")},
}
