package endpoint

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler"
)

// action is an operation that a storage may support.
type action struct {
	// verb is the action's name in discovery.
	verb   string
	method string
	at     []place
	// needs lists the interfaces that the storage must implement.
	needs []capability
	// handler makes the handler for a storage that implements all of needs.
	handler func(s rest.Storage, scope *handler.RequestScope, g *APIGroupVersion) http.HandlerFunc
}

// actions lists all actions. A subresource has one path for all of them: that of its item.
var actions = []*action{
	{"list", http.MethodGet, []place{atCollection, atAllNamespaces}, []capability{isLister}, list},
	// A watch needs a lister, too: it may begin with a list.
	{"watch", http.MethodGet, []place{atWatchCollection, atWatchAllNamespaces}, []capability{isLister, isWatcher}, watchList},
	{"watch", http.MethodGet, []place{atWatchItem}, []capability{isWatcher}, watch},
	{"create", http.MethodPost, []place{atCollection}, []capability{isCreater}, create},
	{"deletecollection", http.MethodDelete, []place{atCollection}, []capability{isCollectionDeleter}, deleteCollection},
	{"get", http.MethodGet, []place{atItem}, []capability{isGetter}, get},
	{"update", http.MethodPut, []place{atItem}, []capability{isUpdater}, update},
	{"patch", http.MethodPatch, []place{atItem}, []capability{isPatcher}, patch},
	{"delete", http.MethodDelete, []place{atItem}, []capability{isGracefulDeleter}, deleteOne},
}

// connects lists the actions of a storage that passes requests on. The storage has the actions whose methods it names.
// HEAD and OPTIONS have no verb.
var connects = []*action{
	{"get", http.MethodGet, []place{atItem, atSubpath}, []capability{isConnecter}, connect},
	{"create", http.MethodPost, []place{atItem, atSubpath}, []capability{isConnecter}, connect},
	{"update", http.MethodPut, []place{atItem, atSubpath}, []capability{isConnecter}, connect},
	{"patch", http.MethodPatch, []place{atItem, atSubpath}, []capability{isConnecter}, connect},
	{"delete", http.MethodDelete, []place{atItem, atSubpath}, []capability{isConnecter}, connect},
	{"", http.MethodHead, []place{atItem, atSubpath}, []capability{isConnecter}, connect},
	{"", http.MethodOptions, []place{atItem, atSubpath}, []capability{isConnecter}, connect},
}

// actionsOf returns the actions that a storage may support.
func actionsOf(storage rest.Storage) []*action {
	connecter, ok := storage.(rest.Connecter[http.Handler])
	if !ok {
		return actions
	}
	_, subpath, _ := connecter.NewConnectOptions()
	var own []*action
	for _, a := range connects {
		if !slices.Contains(connecter.ConnectMethods(), a.method) {
			continue
		}
		if !subpath {
			at := *a
			at.at = []place{atItem}
			a = &at
		}
		own = append(own, a)
	}
	return own
}

// capability is an interface of core/rest that a storage may implement, or a choice of several.
type capability struct {
	// is names the implementation of the capability in a storage; "" if the storage lacks it.
	is func(rest.Storage) string
	// not completes the reason for a missing verb.
	not string
}

func (c capability) has(s rest.Storage) bool { return c.is(s) != "" }

func is[T any]() capability {
	name := "a " + reflect.TypeFor[T]().String()
	return capability{
		is: func(s rest.Storage) string {
			if _, ok := s.(T); ok {
				return name
			}
			return ""
		},
		not: "not " + name,
	}
}

// isAny accepts either of two capabilities, and names the second one of a storage with both.
func isAny(a, b capability) capability {
	return capability{
		is:  func(s rest.Storage) string { return cmp.Or(b.is(s), a.is(s)) },
		not: a.not + " and " + b.not,
	}
}

var (
	isLister            = is[rest.Lister]()
	isWatcher           = is[rest.Watcher]()
	isCreater           = isAny(is[rest.Creater](), is[rest.NamedCreater]())
	isCollectionDeleter = is[rest.CollectionDeleter]()
	isGetter            = capability{is: isAny(is[rest.Getter](), is[rest.GetterWithOptions]()).is, not: is[rest.Getter]().not}
	isConnecter         = is[rest.Connecter[http.Handler]]()
	isUpdater           = is[rest.Updater]()
	isPatcher           = is[rest.Patcher]()
	isGracefulDeleter   = is[rest.GracefulDeleter]()
)

var (
	storageCan    = trace.Because("storage-can", "the storage is {interfaces:word}", "存储是 {interfaces:word}")
	storageCannot = trace.Because("storage-cannot", "{lacking:word}: no route", "{lacking:word}：没有路由")
)

// missing calls lacks and notes the result as a step of the installation.
func (a *action) missing(s rest.Storage, notes *trace.Notes) (lacking string) {
	note := trace.Note(notes, steps.InstallVerb, cmp.Or(a.verb, a.method))
	defer note.End(nil)
	if lacking = a.lacks(s); lacking != "" {
		note.WhyText(storageCannot, lacking)
	} else {
		note.WhyText(storageCan, a.has(s))
	}
	return lacking
}

// has names the capabilities by which a storage supports the action.
func (a *action) has(s rest.Storage) string {
	if len(a.needs) == 1 {
		return a.needs[0].is(s)
	}
	var all []string
	for _, need := range a.needs {
		all = append(all, need.is(s))
	}
	return strings.Join(all, " and ")
}

// lacks names the capabilities that a storage lacks for the action. It returns "" if the storage supports it.
func (a *action) lacks(s rest.Storage) string {
	var lacking []string
	for _, need := range a.needs {
		if !need.has(s) {
			lacking = append(lacking, need.not)
		}
	}
	if len(lacking) == 0 {
		return ""
	}
	return "the storage is " + strings.Join(lacking, " and ")
}

func list(s rest.Storage, scope *handler.RequestScope, g *APIGroupVersion) http.HandlerFunc {
	watcher, _ := s.(rest.Watcher)
	return handler.ListResource(s.(rest.Lister), watcher, scope, false, g.MinRequestTimeout)
}

func watchList(s rest.Storage, scope *handler.RequestScope, g *APIGroupVersion) http.HandlerFunc {
	return handler.ListResource(s.(rest.Lister), s.(rest.Watcher), scope, true, g.MinRequestTimeout)
}

func watch(s rest.Storage, scope *handler.RequestScope, g *APIGroupVersion) http.HandlerFunc {
	return handler.ListResource(nil, s.(rest.Watcher), scope, true, g.MinRequestTimeout)
}

func create(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	if creater, ok := s.(rest.NamedCreater); ok {
		return handler.CreateNamedResource(creater, scope)
	}
	return handler.CreateResource(s.(rest.Creater), scope)
}

func deleteCollection(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	return handler.DeleteCollection(s.(rest.CollectionDeleter), true, scope)
}

func connect(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	return handler.ConnectResource(s.(rest.Connecter[http.Handler]), scope)
}

func get(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	if getter, ok := s.(rest.GetterWithOptions); ok {
		return handler.GetResourceWithOptions(getter, scope)
	}
	if reader, ok := s.(rest.QueryReader); ok {
		return handler.GetResourceWithQuery(s.(rest.Getter), reader, scope)
	}
	return handler.GetResource(s.(rest.Getter), scope)
}

func update(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	return handler.UpdateResource(s.(rest.Updater), scope)
}

func patch(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	patcher := s.(rest.Patcher)
	_, untyped := patcher.New().(runtime.Unstructured)
	return handler.PatchResource(patcher, scope, handler.PatchTypes(!untyped))
}

func deleteOne(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	return handler.DeleteResource(s.(rest.GracefulDeleter), true, scope)
}
