package story

import (
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/core/steps"
)

// english is the grammar of English.
type english struct{}

func (english) request(user, request, agent string) string {
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

func (english) installEnd(took string) string {
	return fmt.Sprintf("From then on it is served. The work for it alone took %s.", took)
}

func (english) filters(filters int, rule, took string) string {
	if rule != "" {
		rule = ": " + rule
	}
	return fmt.Sprintf("%d filters let it pass%s. (%s)", filters, rule, took)
}

func (english) step(s texts) string {
	text := s.does
	if s.times > 1 {
		text += fmt.Sprintf(", %d times with the same result", s.times)
	}
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
	if s.folded > 0 {
		s.took = strings.TrimPrefix(fmt.Sprintf("%s; %d steps in %s: %s", s.took, s.folded, s.box, s.alone), "; ")
	}
	if s.took != "" {
		text += " (" + s.took + ")"
	}
	return text
}

func (english) hold(by, at string) string { return fmt.Sprintf("It is held there: %s at %s.", by, at) }

func (english) running() string { return "It still runs." }

func (english) watchEnd(code, failure int32, took string) string {
	return fmt.Sprintf("The answer was %d, and the watch ended with %d after %s.", code, failure, took)
}

func (english) answer(code int32, bytes, revision int64, took string) string {
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

func (english) outcome(what string, revision int64, after string) string {
	return fmt.Sprintf("%s. (revision %d, %s after the request began)", strings.TrimRight(what, "."), revision, after)
}

func (english) delivery(watch, user, change string, revision int64, after string) string {
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
var sentences = map[steps.ID]string{
	steps.FilterAuditInit:           "The request gets an audit ID",
	steps.FilterPanicRecovery:       "From here on, a panic becomes the answer 500",
	steps.FilterRequestInfo:         "Verb, resource and name are read from the path",
	steps.FilterLatency:             "The clocks of the request start",
	steps.FilterWaitGroup:           "The request counts as under way, so that an orderly stop waits for it",
	steps.FilterDeadline:            "The request gets a deadline",
	steps.FilterWarnings:            "Warnings for the client are collected from here on",
	steps.FilterCORS:                "Pages of other sites are told what they may do",
	steps.FilterAuthentication:      "The server finds out who asks",
	steps.FilterTracing:             "The server decides how much of this journey it records",
	steps.FilterAudit:               "The server decides what its audit log says",
	steps.FilterImpersonation:       "The server looks whether the user acts as somebody else",
	steps.FilterPriorityAndFairness: "The request takes a seat of its priority level, or waits in a queue",
	steps.FilterInFlight:            "The request takes a seat among those that may run at once",
	steps.FilterAuthorization:       "The server finds out whether the user may do this",

	steps.CRDServe:         "The handler of custom resources looks for the definition {of the resource}",
	steps.CRDInfo:          "It takes what serves the definition, or makes it",
	steps.CRDServeResource: "serveResource picks the handler for {the verb}",
	steps.CRDServeStatus:   "serveStatus picks the handler of /status for {the verb}",
	steps.CRDServeScale:    "serveScale picks the handler of /scale for {the verb}",

	steps.HandlerGet:                "getResourceHandler takes the request",
	steps.HandlerList:               "ListResource takes the request",
	steps.HandlerWatch:              "serveWatchHandler takes the request",
	steps.HandlerCreate:             "createHandler takes the request",
	steps.HandlerUpdate:             "UpdateResource takes the request",
	steps.HandlerPatch:              "PatchResource takes the request",
	steps.HandlerDelete:             "DeleteResource takes the request",
	steps.HandlerDeleteCollection:   "DeleteCollection takes the request",
	steps.HandlerConnect:            "ConnectResource takes the request",
	steps.HandlerProxy:              "The request is passed on, and the answer back",
	steps.HandlerStream:             "A stream is passed on to the client",
	steps.HandlerAggregate:          "The request is left to the server that an APIService names: {an APIService}",
	steps.HandlerRoute:              "A server of the chain looks whether the path is its own: {the server}",
	steps.HandlerMethodNotSupported: "The verb is not there: {a verb}",
	steps.HandlerNotFound:           "The chain of servers ends, and the request is not found: {a path}",
	steps.HandlerMetrics:            "The request is counted in the metrics",

	steps.HandlerNamer:         "The names are read from the request: {no name}",
	steps.HandlerMediaType:     "The form of the answer is chosen by the Accept header: {it has none}",
	steps.HandlerOptions:       "The options of the verb are decoded: {its options}",
	steps.HandlerTransform:     "What the client gets is made of what rest has: {an object}",
	steps.HandlerDecode:        "The body becomes an object: {an object}",
	steps.HandlerDefault:       "Fields that the client left out get the defaults of the version",
	steps.HandlerConvert:       "The object is converted between the request's version and the stored one: {its kind}",
	steps.HandlerMutate:        "Mutating admission begins: {the operation}",
	steps.HandlerAdmit:         "An admission plugin may change or refuse the object: {one of them}",
	steps.HandlerValidate:      "Validating admission begins: {the operation}",
	steps.HandlerApprove:       "An admission plugin may refuse the object: {one of them}",
	steps.HandlerWebhook:       "A webhook is asked about the write: {one of them}",
	steps.HandlerPolicy:        "An admission policy is evaluated: {one of them}",
	steps.HandlerApplyPatch:    "The patch is applied to the present state: {a patch}",
	steps.HandlerApply:         "What the client applies is merged with the present state: {an object}",
	steps.HandlerManagedFields: "The server notes who owns which field",
	steps.HandlerTable:         "Rows of a table are made of it: {an object}",
	steps.HandlerEncode:        "The response is written: {an object}",
	steps.HandlerWatchEvent:    "The watcher is sent an event: {a change}",

	steps.CRDPrune:    "Fields that the schema does not know are dropped",
	steps.CRDDefault:  "Fields that the client left out get the schema's defaults",
	steps.CRDValidate: "The object is checked by its schema",
	steps.CRDCEL:      "A rule of the schema is evaluated: {a rule}",

	steps.ControllerDecide: "No client asked for this: a controller decides to do it",

	steps.RESTGet:              "The REST storage of the resource is asked for {the object}",
	steps.RESTList:             "The REST storage of the resource is asked for the list: {the resource}",
	steps.RESTWatch:            "The REST storage of the resource is asked to watch {the resource}",
	steps.RESTCreate:           "The REST storage of the resource is asked to create {the object}",
	steps.RESTUpdate:           "The REST storage of the resource is asked to update {the object}",
	steps.RESTDelete:           "The REST storage of the resource is asked to delete {the object}",
	steps.RESTDeleteCollection: "The REST storage of the resource is asked to delete all that is selected of {the resource}",
	steps.RESTConnect:          "The REST storage of the resource is asked for a connection to {the object}",
	steps.StatusGet:            "StatusREST gets {the object}, whole",
	steps.StatusUpdate:         "StatusREST updates a part of {the object}",
	steps.ScaleGet:             "ScaleREST makes a Scale of {the object}",
	steps.ScaleUpdate:          "ScaleREST puts the replicas of the Scale into {the object}",
	steps.RollbackCreate:       "RollbackREST writes into the deployment that it is to go back: {its name}",
	steps.CustomGet:            "The definition's storage of custom resources gets {the object}",
	steps.CustomStatusGet:      "The definition's storage of their status gets {the object}, whole",
	steps.CustomStatusUpdate:   "The definition's storage of their status updates {the object}",
	steps.CustomScaleGet:       "The definition's storage of their scale makes a Scale of {the object}",
	steps.CustomScaleUpdate:    "The definition's storage of their scale puts the replicas into {the object}",
	steps.PodEvict:             "EvictionREST is asked to evict {the pod}",
	steps.PodCheckBudget:       "EvictionREST looks whether a disruption budget lets one more pod go: {a budget}",
	steps.TokenCreate:          "TokenREST is asked for a token of {the service account}",
	steps.TokenSign:            "The server signs a token of {a service account}",
	steps.KubeletLocate:        "The address of the kubelet is looked up, on the node {of the pod}",

	steps.StoreKey:              "KeyFunc makes the key of {the object}",
	steps.StoreGet:              "The generic Store gets {the object}",
	steps.StoreList:             "The generic Store lists {the resource}",
	steps.StoreWatch:            "The generic Store watches {the resource}",
	steps.StoreCreate:           "The generic Store creates {the object}",
	steps.StoreUpdate:           "The generic Store updates {the object}",
	steps.StoreDelete:           "The generic Store deletes {the object}",
	steps.StoreDeleteCollection: "The generic Store deletes all that is selected of {the resource}",
	steps.StoreBeforeCreate:     "BeforeCreate sets the system's fields, and the strategy prepares and validates {the object}",
	steps.StoreBeforeUpdate:     "BeforeUpdate has the strategy prepare and validate {the object}",
	steps.StorePrepare:          "The strategy of the resource puts {the object} in order",
	steps.StoreBeforeDelete:     "BeforeDelete checks preconditions, the grace period, and what becomes of dependents: {the object}",
	steps.StoreTryUpdate:        "The storage calls back up for the next state of {the object}",
	steps.StoreBegin:            "A hook of the resource has its turn before the write: {a Begin hook}",
	steps.StoreGrant:            "What this grants is compared with what the user has",
	steps.StoreAfter:            "A hook of the resource has its turn behind the write: {an After hook}",
	steps.StoreDecorate:         "The Decorator of the resource changes the object on its way out",
	steps.StoreInterpretError:   "An error of the API is made of the storage's, for this verb: {one that reads or writes}",
	steps.CRDConvert:            "Custom resources are converted to another version: {a kind}",
	steps.CRDWebhook:            "The conversion webhook is asked: {a call}",

	steps.DryRunGet:    "DryRunnableStorage passes the get on",
	steps.DryRunList:   "DryRunnableStorage passes the list on",
	steps.DryRunWatch:  "DryRunnableStorage passes the watch on",
	steps.DryRunCreate: "DryRunnableStorage looks whether the create is a dry run",
	steps.DryRunUpdate: "DryRunnableStorage looks whether the update is a dry run",
	steps.DryRunDelete: "DryRunnableStorage looks whether the delete is a dry run",

	steps.CacherGet:          "The watch cache is asked for {the object}",
	steps.CacherList:         "The watch cache is asked for the list {of the resource}",
	steps.CacherWatch:        "The watch cache is asked to watch {the resource}",
	steps.CacherUpdate:       "The watch cache offers what it has of {the object}, so that the update need not read it first",
	steps.CacherDelete:       "The watch cache picks the newest known state of {the object}, so that the delete need not read it first",
	steps.CacherWait:         "The watch cache waits until it has seen the revision that is wanted",
	steps.CacherReflect:      "The watch cache gets etcd's event",
	steps.CacherProcessEvent: "The event becomes part of the cache's state and history",
	steps.CacherDispatch:     "The event goes to the watchers that it is for",

	steps.Etcd3Get:      "The etcd3 store gets {the key}",
	steps.Etcd3List:     "The etcd3 store lists {the keys}",
	steps.Etcd3Watch:    "The etcd3 store watches {the keys}",
	steps.Etcd3Create:   "The etcd3 store creates {the key}",
	steps.Etcd3Update:   "The etcd3 store updates {the key}: it reads, asks for the next state, and writes if nobody else has",
	steps.Etcd3Delete:   "The etcd3 store deletes {the key}, if it is as expected",
	steps.Etcd3NotFound: "Nothing is stored there: {at the key}",
	steps.Etcd3Lease:    "The lease manager gives the key a lease: {a key}",
	steps.Etcd3Decode:   "Stored bytes become an object",
	steps.Etcd3Encode:   "The object becomes bytes to store",
	steps.Etcd3Event:    "etcd's event becomes a watch event: {a key}",
	steps.Etcd3Metrics:  "The metrics record how long etcd took",

	steps.TransformFromStorage: "TransformFromStorage decrypts the value, if it is encrypted",
	steps.TransformToStorage:   "TransformToStorage encrypts the value, if its resource is to be encrypted",

	steps.EtcdGet:         "etcd is asked for one key: {a key}",
	steps.EtcdKeyRevision: "etcd is asked for the revision of one key: {a key}",
	steps.EtcdRange:       "etcd is asked for a range of keys: {a prefix}",
	steps.EtcdTxn:         "etcd gets a transaction on {one key}",
	steps.EtcdWatch:       "etcd is asked to tell of changes: {of keys}",
	steps.EtcdLease:       "etcd is asked for a lease, so that the key goes by itself",

	steps.InstallAPIs:       "The server installs its groups, this one among them",
	steps.InstallProvider:   "The provider of the group makes its storages: {of the core group}",
	steps.InstallLegacy:     "The group without a name is installed, below /api",
	steps.InstallGroups:     "The groups with names are installed, below /apis",
	steps.InstallResources:  "The versions of a group are installed: {of the core group}",
	steps.InstallVersion:    "The storages of one version get their routes: {of the version}",
	steps.InstallHandlers:   "registerResourceHandlers looks what the storage can do: {a storage}",
	steps.InstallVerb:       "May it {do that}?",
	steps.InstallDefinition: "crdHandler makes what serves the definition {of the resource}",
	steps.InstallSchema:     "The schema of the version {of the definition} is compiled",
	steps.InstallServed:     "The version {of the definition} gets a handler for each verb",

	steps.StorageComplete:    "The generic Store of {the resource} is completed: it gets its storage",
	steps.StorageOptions:     "GetRESTOptions says how {the resource} is stored",
	steps.StorageCacher:      "StorageWithCacher puts a watch cache in front of etcd, for {the resource}",
	steps.StorageUndecorated: "UndecoratedStorage puts nothing in front of etcd, for {the resource}",
	steps.StorageRaw:         "NewRawStorage makes the storage on etcd, below {a prefix}",
	steps.StorageFactory:     "factory.Create picks the kind of storage for {the resource}",
	steps.StorageEtcd3:       "newETCD3Storage makes the etcd3 store, with {a prefix} before its keys",
}
