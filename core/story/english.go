package story

import (
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/core/trace"
)

// english is the grammar of English.
type english struct{}

func (english) asked(user, request, agent string) string {
	if user == "" {
		user = "Somebody"
	}
	text := user + " asks for " + request
	if agent != "" {
		text += ", with " + agent
	}
	return text + "."
}

func (english) install(path, server string) string {
	return fmt.Sprintf("How %s came to be served, by %s. No request asked for it.", path, server)
}

func (english) installed(took string) string {
	return fmt.Sprintf("From then on it is served. The work for it alone took %s.", took)
}

func (english) passed(filters int, rule string) string {
	if rule != "" {
		rule = ": " + rule
	}
	return fmt.Sprintf("%d filters let it pass%s.", filters, rule)
}

func (english) step(s texts) string {
	text := s.does
	if s.why != "" {
		text += " — " + s.why
	}
	if s.failed {
		text += "; it fails"
	}
	if s.failure != "" {
		text += ": " + s.failure
	}
	text = strings.TrimRight(text, ".") + "."
	if s.took != "" {
		text += " (" + s.took + ")"
	}
	return text
}

func (english) details(clauses []string, took string) string {
	for i, clause := range clauses[1:] {
		clauses[i+1] = strings.ToLower(clause[:1]) + clause[1:]
	}
	return fmt.Sprintf("%s. (%s)", strings.Join(clauses, ", "), took)
}

func (english) held(by, at string) string { return fmt.Sprintf("It is held there: %s at %s.", by, at) }

func (english) running() string { return "It still runs." }

func (english) watchEnded(code, failure int32, took string) string {
	return fmt.Sprintf("The answer was %d, and the watch ended with %d after %s.", code, failure, took)
}

func (english) answered(code int32, bytes, revision int64, took string) string {
	text := fmt.Sprintf("The answer is %d, of %d bytes, after %s", code, bytes, took)
	if revision > 0 {
		text += fmt.Sprintf("; what it wrote is etcd's revision %d", revision)
	}
	return text + "."
}

func (english) fact(name, text string) string {
	if name != "" {
		text = name + ": " + text
	}
	return strings.TrimRight(text, ".") + "."
}

func (english) advice(text string) string { return "What can be done: " + text + "." }

func (english) caused(what string, revision int64, after string) string {
	return fmt.Sprintf("%s. (revision %d, %s after the request began)", strings.TrimRight(what, "."), revision, after)
}

func (english) sent(watch, user, change string, revision int64, after string) string {
	if user != "" {
		watch += " of " + user
	}
	return fmt.Sprintf("The watch %s is sent %s of revision %d. (%s after the request began)", watch, change, revision, after)
}

func (english) cause(journey string, revision int64) string {
	if journey == "" {
		return fmt.Sprintf("The server does it because it saw revision %d. Which request wrote that is not known.", revision)
	}
	return fmt.Sprintf("The server does it because it saw revision %d, which %s wrote.", revision, journey)
}

func (english) effect(who, verb, what, journey string, revision int64, after string) string {
	text := fmt.Sprintf("Then %s did %s %s", who, verb, what)
	if revision > 0 {
		text += fmt.Sprintf(" at revision %d", revision)
	}
	return text + fmt.Sprintf(": %s. (%s after the request began)", journey, after)
}

// sentences holds the sentence for each step. The words in braces stand for the step's subject where it is unknown.
// Package lang has the translations.
var sentences = map[trace.ID]string{
	trace.FilterAuditInit:           "The request gets an audit ID",
	trace.FilterPanicRecovery:       "From here on, a panic becomes the answer 500",
	trace.FilterRequestInfo:         "Verb, resource and name are read from the path",
	trace.FilterLatency:             "The clocks of the request start",
	trace.FilterWaitGroup:           "The request counts as under way, so that an orderly stop waits for it",
	trace.FilterDeadline:            "The request gets a deadline",
	trace.FilterWarnings:            "Warnings for the client are collected from here on",
	trace.FilterCORS:                "Pages of other sites are told what they may do",
	trace.FilterAuthentication:      "The server finds out who asks",
	trace.FilterTracing:             "The server decides how much of this journey it records",
	trace.FilterAudit:               "The server decides what its audit log says",
	trace.FilterImpersonation:       "The server looks whether the user acts as somebody else",
	trace.FilterPriorityAndFairness: "The request takes a seat of its priority level, or waits in a queue",
	trace.FilterInFlight:            "The request takes a seat among those that may run at once",
	trace.FilterAuthorization:       "The server finds out whether the user may do this",

	trace.CRDServe:         "The handler of custom resources looks for the definition {of the resource}",
	trace.CRDInfo:          "It takes what serves the definition, or makes it",
	trace.CRDServeResource: "serveResource picks the handler for {the verb}",
	trace.CRDServeStatus:   "serveStatus picks the handler of /status for {the verb}",
	trace.CRDServeScale:    "serveScale picks the handler of /scale for {the verb}",

	trace.HandlerGet:                "getResourceHandler takes the request",
	trace.HandlerList:               "ListResource takes the request",
	trace.HandlerWatch:              "serveWatchHandler takes the request",
	trace.HandlerCreate:             "createHandler takes the request",
	trace.HandlerUpdate:             "UpdateResource takes the request",
	trace.HandlerPatch:              "PatchResource takes the request",
	trace.HandlerDelete:             "DeleteResource takes the request",
	trace.HandlerDeleteCollection:   "DeleteCollection takes the request",
	trace.HandlerConnect:            "ConnectResource takes the request",
	trace.HandlerProxy:              "The request is passed on, and the answer back",
	trace.HandlerStream:             "A stream is passed on to the client",
	trace.HandlerAggregate:          "The request is left to the server that an APIService names: {an APIService}",
	trace.HandlerRoute:              "A server of the chain looks whether the path is its own: {the server}",
	trace.HandlerMethodNotSupported: "The verb is not there: {a verb}",
	trace.HandlerNotFound:           "The chain of servers ends, and the request is not found: {a path}",
	trace.HandlerMetrics:            "The request is counted in the metrics",

	trace.HandlerNamer:         "The names are read from the request: {no name}",
	trace.HandlerMediaType:     "The form of the answer is chosen by the Accept header: {it has none}",
	trace.HandlerOptions:       "The options of the verb are decoded: {its options}",
	trace.HandlerTransform:     "What the client gets is made of what rest has: {an object}",
	trace.HandlerDecode:        "The body becomes an object: {an object}",
	trace.HandlerDefault:       "Fields that the client left out get the defaults of the version",
	trace.HandlerConvert:       "The object is converted between the request's version and the stored one: {its kind}",
	trace.HandlerMutate:        "Mutating admission begins: {the operation}",
	trace.HandlerAdmit:         "An admission plugin may change or refuse the object: {one of them}",
	trace.HandlerValidate:      "Validating admission begins: {the operation}",
	trace.HandlerApprove:       "An admission plugin may refuse the object: {one of them}",
	trace.HandlerWebhook:       "A webhook is asked about the write: {one of them}",
	trace.HandlerPolicy:        "An admission policy is evaluated: {one of them}",
	trace.HandlerApplyPatch:    "The patch is applied to the present state: {a patch}",
	trace.HandlerApply:         "What the client applies is merged with the present state: {an object}",
	trace.HandlerManagedFields: "The server notes who owns which field",
	trace.HandlerTable:         "Rows of a table are made of it: {an object}",
	trace.HandlerEncode:        "The response is written: {an object}",
	trace.HandlerWatchEvent:    "The watcher is sent an event: {a change}",

	trace.CRDPrune:    "Fields that the schema does not know are dropped",
	trace.CRDDefault:  "Fields that the client left out get the schema's defaults",
	trace.CRDValidate: "The object is checked by its schema",
	trace.CRDCEL:      "A rule of the schema is evaluated: {a rule}",

	trace.ControllerDecide: "No client asked for this: a controller decides to do it",

	trace.RESTGet:              "The REST storage of the resource is asked for {the object}",
	trace.RESTList:             "The REST storage of the resource is asked for the list: {the resource}",
	trace.RESTWatch:            "The REST storage of the resource is asked to watch {the resource}",
	trace.RESTCreate:           "The REST storage of the resource is asked to create {the object}",
	trace.RESTUpdate:           "The REST storage of the resource is asked to update {the object}",
	trace.RESTDelete:           "The REST storage of the resource is asked to delete {the object}",
	trace.RESTDeleteCollection: "The REST storage of the resource is asked to delete all that is selected of {the resource}",
	trace.RESTConnect:          "The REST storage of the resource is asked for a connection to {the object}",
	trace.StatusGet:            "StatusREST gets {the object}, whole",
	trace.StatusUpdate:         "StatusREST updates a part of {the object}",
	trace.ScaleGet:             "ScaleREST makes a Scale of {the object}",
	trace.ScaleUpdate:          "ScaleREST puts the replicas of the Scale into {the object}",
	trace.RollbackCreate:       "RollbackREST writes into the deployment that it is to go back: {its name}",
	trace.CustomGet:            "The definition's storage of custom resources gets {the object}",
	trace.CustomStatusGet:      "The definition's storage of their status gets {the object}, whole",
	trace.CustomStatusUpdate:   "The definition's storage of their status updates {the object}",
	trace.CustomScaleGet:       "The definition's storage of their scale makes a Scale of {the object}",
	trace.CustomScaleUpdate:    "The definition's storage of their scale puts the replicas into {the object}",
	trace.PodEvict:             "EvictionREST is asked to evict {the pod}",
	trace.PodCheckBudget:       "EvictionREST looks whether a disruption budget lets one more pod go: {a budget}",
	trace.TokenCreate:          "TokenREST is asked for a token of {the service account}",
	trace.TokenSign:            "The server signs a token of {a service account}",
	trace.KubeletLocate:        "The address of the kubelet is looked up, on the node {of the pod}",

	trace.StoreKey:              "KeyFunc makes the key of {the object}",
	trace.StoreGet:              "The generic Store gets {the object}",
	trace.StoreList:             "The generic Store lists {the resource}",
	trace.StoreWatch:            "The generic Store watches {the resource}",
	trace.StoreCreate:           "The generic Store creates {the object}",
	trace.StoreUpdate:           "The generic Store updates {the object}",
	trace.StoreDelete:           "The generic Store deletes {the object}",
	trace.StoreDeleteCollection: "The generic Store deletes all that is selected of {the resource}",
	trace.StoreBeforeCreate:     "BeforeCreate sets the system's fields, and the strategy prepares and validates {the object}",
	trace.StoreBeforeUpdate:     "BeforeUpdate has the strategy prepare and validate {the object}",
	trace.StorePrepare:          "The strategy of the resource puts {the object} in order",
	trace.StoreBeforeDelete:     "BeforeDelete checks preconditions, the grace period, and what becomes of dependents: {the object}",
	trace.StoreTryUpdate:        "The storage calls back up for the next state of {the object}",
	trace.StoreBegin:            "A hook of the resource has its turn before the write: {a Begin hook}",
	trace.StoreGrant:            "What this grants is compared with what the user has",
	trace.StoreAfter:            "A hook of the resource has its turn behind the write: {an After hook}",
	trace.StoreDecorate:         "The Decorator of the resource changes the object on its way out",
	trace.StoreInterpretError:   "An error of the API is made of the storage's, for this verb: {one that reads or writes}",
	trace.CRDConvert:            "Custom resources are converted to another version: {a kind}",
	trace.CRDWebhook:            "The conversion webhook is asked: {a call}",

	trace.DryRunGet:    "DryRunnableStorage passes the get on",
	trace.DryRunList:   "DryRunnableStorage passes the list on",
	trace.DryRunWatch:  "DryRunnableStorage passes the watch on",
	trace.DryRunCreate: "DryRunnableStorage looks whether the create is a dry run",
	trace.DryRunUpdate: "DryRunnableStorage looks whether the update is a dry run",
	trace.DryRunDelete: "DryRunnableStorage looks whether the delete is a dry run",

	trace.CacherGet:          "The watch cache is asked for {the object}",
	trace.CacherList:         "The watch cache is asked for the list {of the resource}",
	trace.CacherWatch:        "The watch cache is asked to watch {the resource}",
	trace.CacherUpdate:       "The watch cache offers what it has of {the object}, so that the update need not read it first",
	trace.CacherDelete:       "The watch cache offers what it has of {the object}, so that the delete need not read it first",
	trace.CacherWait:         "The watch cache waits until it has seen the revision that is wanted",
	trace.CacherReflect:      "The watch cache gets etcd's event",
	trace.CacherProcessEvent: "The event becomes part of the cache's state and history",
	trace.CacherDispatch:     "The event goes to the watchers that it is for",

	trace.Etcd3Get:      "The etcd3 store gets {the key}",
	trace.Etcd3List:     "The etcd3 store lists {the keys}",
	trace.Etcd3Watch:    "The etcd3 store watches {the keys}",
	trace.Etcd3Create:   "The etcd3 store creates {the key}",
	trace.Etcd3Update:   "The etcd3 store updates {the key}: it reads, asks for the next state, and writes if nobody else has",
	trace.Etcd3Delete:   "The etcd3 store deletes {the key}, if it is as expected",
	trace.Etcd3NotFound: "Nothing is stored there: {at the key}",
	trace.Etcd3Lease:    "The lease manager gives the key a lease: {a key}",
	trace.Etcd3Decode:   "Stored bytes become an object",
	trace.Etcd3Encode:   "The object becomes bytes to store",
	trace.Etcd3Event:    "etcd's event becomes a watch event: {a key}",
	trace.Etcd3Metrics:  "The metrics record how long etcd took",

	trace.TransformFromStorage: "TransformFromStorage decrypts the value, if it is encrypted",
	trace.TransformToStorage:   "TransformToStorage encrypts the value, if its resource is to be encrypted",

	trace.EtcdGet:         "etcd is asked for one key: {a key}",
	trace.EtcdKeyRevision: "etcd is asked for the revision of one key: {a key}",
	trace.EtcdRange:       "etcd is asked for a range of keys: {a prefix}",
	trace.EtcdTxn:         "etcd gets a transaction on {one key}",
	trace.EtcdWatch:       "etcd is asked to tell of changes: {of keys}",
	trace.EtcdLease:       "etcd is asked for a lease, so that the key goes by itself",

	trace.InstallAPIs:       "The server installs its groups, this one among them",
	trace.InstallProvider:   "The provider of the group makes its storages: {of the core group}",
	trace.InstallLegacy:     "The group without a name is installed, below /api",
	trace.InstallGroups:     "The groups with names are installed, below /apis",
	trace.InstallResources:  "The versions of a group are installed: {of the core group}",
	trace.InstallVersion:    "The storages of one version get their routes: {of the version}",
	trace.InstallHandlers:   "registerResourceHandlers looks what the storage can do: {a storage}",
	trace.InstallVerb:       "May it {do that}?",
	trace.InstallDefinition: "crdHandler makes what serves the definition {of the resource}",
	trace.InstallSchema:     "The schema of the version {of the definition} is compiled",
	trace.InstallServed:     "The version {of the definition} gets a handler for each verb",

	trace.StorageComplete:    "The generic Store of {the resource} is completed: it gets its storage",
	trace.StorageOptions:     "GetRESTOptions says how {the resource} is stored",
	trace.StorageCacher:      "StorageWithCacher puts a watch cache in front of etcd, for {the resource}",
	trace.StorageUndecorated: "UndecoratedStorage puts nothing in front of etcd, for {the resource}",
	trace.StorageRaw:         "NewRawStorage makes the storage on etcd, below {a prefix}",
	trace.StorageFactory:     "factory.Create picks the kind of storage for {the resource}",
	trace.StorageEtcd3:       "newETCD3Storage makes the etcd3 store, with {a prefix} before its keys",
}
