package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/server/options"
)

const farGroup = "far.example.com"

var farVersion = schema.GroupVersion{Group: farGroup, Version: "v1"}

// behind starts a server that believes another one when that says who asks, as extension API servers do: by what that has published. It
// has custom resources of a group.
func behind(t *testing.T, front *running) (r *running, stop func() error) {
	t.Helper()
	published, err := front.admin(t).CoreV1().ConfigMaps("kube-system").Get(within(t), "extension-apiserver-authentication", metav1.GetOptions{})
	must(t, err)
	list := func(key string) (all []string) {
		must(t, json.Unmarshal([]byte(published.Data["requestheader-"+key]), &all))
		return all
	}
	ca := filepath.Join(t.TempDir(), "front-proxy-ca.crt")
	must(t, os.WriteFile(ca, []byte(published.Data["requestheader-client-ca-file"]), 0o600))
	r, stop, err = launch(func(o *options.Options) {
		o.Access.RequestHeader = options.RequestHeader{
			ClientCAFile: ca, AllowedNames: list("allowed-names"), UsernameHeaders: list("username-headers"), UIDHeaders: list("uid-headers"),
			GroupHeaders: list("group-headers"), ExtraHeaderPrefixes: list("extra-headers-prefix"),
		}
	})
	must(t, err)
	stop = sync.OnceValue(stop)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	r.define(t, cronTab(farGroup))
	return r, stop
}

// emptyServer is the address of an extension API server that knows nobody, and has a resource without objects.
func emptyServer(t testing.TB) string {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/apis/" + farGroup + "/v1":
			fmt.Fprintln(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"far.example.com/v1","resources":[{"name":"crontabs","kind":"CronTab","namespaced":true,"verbs":["list"]}]}`)
		case "/apis/" + farGroup + "/v1/crontabs":
			fmt.Fprintln(w, `{"kind":"CronTabList","apiVersion":"far.example.com/v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices"

// register has a server leave a version to the one at an address, as a service without endpoints or cluster IP.
func (r *running) register(t testing.TB, address string) {
	t.Helper()
	host, port, err := net.SplitHostPort(strings.TrimPrefix(address, "https://"))
	must(t, err)
	number, err := strconv.Atoi(port)
	must(t, err)
	_, err = r.admin(t).CoreV1().Services("default").Create(within(t), &corev1.Service{
		ObjectMeta: named("far"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: host},
	}, metav1.CreateOptions{FieldManager: "server.test"}) // not the binary's name: transcripts have the object's size
	must(t, err)
	r.leave(t, apiregistrationv1.APIServiceSpec{
		Group: farGroup, InsecureSkipTLSVerify: true, Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "far", Port: ptr.To(int32(number))},
	})
}

// leave has a server leave v1 of a group to another one.
func (r *running) leave(t testing.TB, spec apiregistrationv1.APIServiceSpec) {
	t.Helper()
	spec.Version, spec.GroupPriorityMinimum, spec.VersionPriority = "v1", 100, 10
	body := marshal(t, &apiregistrationv1.APIService{ObjectMeta: named("v1." + spec.Group), Spec: spec})
	res, answer := ask(t, r.httpClient(t), "POST", r.URL+apiServices, bytes.NewReader(body), "Content-Type: application/json")
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", res.StatusCode, answer)
	}
}

// available waits until the condition of the version has a reason.
func (r *running) available(t testing.TB, reason string) apiregistrationv1.APIServiceCondition {
	t.Helper()
	return r.judged(t, farGroup, reason)
}

// judged waits until the condition of v1 of a group has a reason.
func (r *running) judged(t testing.TB, group, reason string) (condition apiregistrationv1.APIServiceCondition) {
	t.Helper()
	client := r.httpClient(t)
	until(t, "v1."+group+" is available or not because of "+reason, func() bool {
		_, body := ask(t, client, "GET", r.URL+apiServices+"/v1."+group, nil)
		var s apiregistrationv1.APIService
		must(t, json.Unmarshal(body, &s))
		if len(s.Status.Conditions) == 1 {
			condition = s.Status.Conditions[0]
		}
		return condition.Reason == reason
	})
	return condition
}

// freshness is what aggregated discovery says of the version, with the names of its resources.
func (r *running) freshness(t *testing.T) string {
	t.Helper()
	_, body := ask(t, r.httpClient(t), "GET", r.URL+"/apis", nil, "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	var list apidiscoveryv2.APIGroupDiscoveryList
	must(t, json.Unmarshal(body, &list))
	for _, g := range list.Items {
		for _, v := range g.Versions {
			if g.Name == farGroup {
				text := string(v.Freshness)
				for _, one := range v.Resources {
					text += fmt.Sprintf(" %s/%d", one.Resource, len(one.Subresources))
				}
				return text
			}
		}
	}
	return "not there"
}

// discovered waits until aggregated discovery says so of the version, which comes after its condition.
func (r *running) discovered(t *testing.T, freshness string) {
	t.Helper()
	until(t, "discovery says "+freshness, func() bool { return r.freshness(t) == freshness })
}

// TestAggregated has a server leave a group to another one: as a user sees it, what the other one is told of who asks, what clients
// find out, and what comes of it when that server has gone.
func TestAggregated(t *testing.T) {
	t.Parallel()
	front := start(t, withObjects("192.0.2.1"), tokens(t, "alice,alice,a-1,\"gardeners\"\n"))
	front.ready(t)
	far, stopFar := behind(t, front)
	front.register(t, far.URL)
	if c := front.available(t, "Passed"); c.Status != apiregistrationv1.ConditionTrue || c.Message != "all checks passed" {
		t.Errorf("it is %+v", c)
	}
	front.discovered(t, "Current crontabs/2")

	tabs := front.dynamic(t).Resource(farVersion.WithResource("crontabs")).Namespace("default")
	watcher, err := tabs.Watch(within(t), metav1.ListOptions{})
	must(t, err)
	defer watcher.Stop()
	_, err = tabs.Create(within(t), tab(farVersion, "default", "there"), metav1.CreateOptions{})
	must(t, err)
	if event := <-watcher.ResultChan(); event.Object.(metav1.Object).GetName() != "there" {
		t.Errorf("the watch tells %v", event)
	}
	if _, err := far.dynamic(t).Resource(farVersion.WithResource("crontabs")).Namespace("default").Get(within(t), "there", metav1.GetOptions{}); err != nil {
		t.Errorf("the other server does not have it: %v", err)
	}
	if _, body := ask(t, front.httpClient(t), "GET", front.URL+"/apis/"+farGroup, nil); !strings.Contains(string(body), `"preferredVersion":{"groupVersion":"far.example.com/v1"`) {
		t.Errorf("the group is %s", body)
	}
	until(t, "the version's page comes, for which a server waits five seconds", func() bool {
		_, body := ask(t, front.httpClient(t), "GET", front.URL+"/apis/"+farGroup+"/v1", nil)
		return strings.Contains(string(body), `"crontabs/status"`)
	})
	until(t, "OpenAPI describes them", func() bool {
		_, v3 := ask(t, front.httpClient(t), "GET", front.URL+"/openapi/v3/apis/"+farGroup+"/v1", nil)
		_, v2 := ask(t, front.httpClient(t), "GET", front.URL+"/openapi/v2", nil)
		const words = "How many of them run."
		return strings.Contains(string(v3), words) && strings.Contains(string(v2), words)
	})

	t.Run("who asks", func(t *testing.T) {
		path := front.URL + "/apis/" + farGroup + "/v1/namespaces/default/crontabs"
		alice := front.tokenClient(t, "alice")
		if res, body := ask(t, alice, "GET", path, nil); res.StatusCode != http.StatusForbidden {
			t.Errorf("before she may ask here: %d %s", res.StatusCode, body)
		}
		front.bind(t, "alice", "cluster-admin", "list", farGroup, "crontabs")
		// She may do everything here, and nothing there. What she says of herself changes nothing.
		res, body := ask(t, alice, "GET", path, nil, "X-Remote-User: system:admin", "X-Remote-Group: system:masters", "X-Remote-Extra-Scopes: all")
		const want = `crontabs.far.example.com is forbidden: User \"alice\" cannot list resource \"crontabs\" in API group \"far.example.com\" in the namespace \"default\"`
		if res.StatusCode != http.StatusForbidden || !strings.Contains(string(body), want) {
			t.Errorf("the other server answers %d %s", res.StatusCode, body)
		}
		var asked *v1alpha1.Journey
		for _, j := range far.journeysOf(t, "?filter="+url.QueryEscape("user:alice")) {
			asked = &j
		}
		if asked == nil {
			t.Fatal("the other server did not meet her")
		}
		// Headers alone are believed from nobody.
		if res, body := ask(t, far.anyone(t), "GET", strings.Replace(path, front.URL, far.URL, 1), nil, "X-Remote-User: alice", "X-Remote-Group: system:masters"); res.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "system:anonymous") {
			t.Errorf("the other server answers headers with %d %s", res.StatusCode, body)
		}
	})

	t.Run("journey", func(t *testing.T) {
		if _, err := tabs.Get(within(t), "there", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		found := front.journeysOf(t, "?filter="+url.QueryEscape("verb:get resource:crontabs"))
		if len(found) != 1 {
			t.Fatalf("%d journeys", len(found))
		}
		var whole v1alpha1.Journey
		front.read(t, journeysPath+"/"+found[0].Name, &whole)
		i := slices.IndexFunc(whole.Status.Steps, func(s v1alpha1.Step) bool { return s.ID == steps.HandlerAggregate.String() })
		if i < 0 {
			t.Fatalf("%+v", whole.Status.Steps)
		}
		step := fmt.Sprintf("%+v", whole.Status.Steps[i])
		for _, want := range []string{"default/far", strings.TrimPrefix(far.URL, "https://"), "server/aggregator.(*Server).pass"} {
			if !strings.Contains(step, want) {
				t.Errorf("the step does not have %s: %s", want, step)
			}
		}
	})

	namespaces := front.admin(t).CoreV1().Namespaces()
	_, err = namespaces.Create(within(t), &corev1.Namespace{ObjectMeta: named("late")}, metav1.CreateOptions{})
	must(t, err)
	t.Run("a namespace goes with what the other server has in it", func(t *testing.T) {
		for _, r := range []*running{front, far} {
			_, err := r.admin(t).CoreV1().Namespaces().Create(within(t), &corev1.Namespace{ObjectMeta: named("garden")}, metav1.CreateOptions{})
			must(t, err)
		}
		// The other server has no default roles.
		_, err := far.admin(t).RbacV1().ClusterRoles().Create(within(t), &rbacv1.ClusterRole{ObjectMeta: named("gardener"), Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"list", "deletecollection"}, APIGroups: []string{farGroup}, Resources: []string{"*"}},
		}}, metav1.CreateOptions{})
		must(t, err)
		far.bind(t, "system:serviceaccount:kube-system:namespace-controller", "gardener", "deletecollection", farGroup, "crontabs")
		there := far.dynamic(t).Resource(farVersion.WithResource("crontabs")).Namespace("garden")
		for _, name := range []string{"one", "two"} {
			_, err := there.Create(within(t), tab(farVersion, "garden", name), metav1.CreateOptions{})
			must(t, err)
		}
		must(t, namespaces.Delete(within(t), "garden", metav1.DeleteOptions{}))
		until(t, "the namespace is gone", func() bool {
			_, err := namespaces.Get(within(t), "garden", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
		list, err := there.List(within(t), metav1.ListOptions{})
		must(t, err)
		if len(list.Items) != 0 {
			t.Errorf("the other server still has %d objects in it", len(list.Items))
		}
	})

	// Nobody writes the API service now: its service is followed.
	services := front.admin(t).CoreV1().Services("default")
	route, err := services.Get(within(t), "far", metav1.GetOptions{})
	must(t, err)
	must(t, services.Delete(within(t), "far", metav1.DeleteOptions{}))
	if c := front.available(t, "ServiceNotFound"); c.Message != `service/far in "default" is not present` {
		t.Errorf("without its service it is %+v", c)
	}
	_, err = services.Create(within(t), &corev1.Service{ObjectMeta: named("far"), Spec: corev1.ServiceSpec{Type: route.Spec.Type, ExternalName: route.Spec.ExternalName}}, metav1.CreateOptions{})
	must(t, err)
	front.available(t, "Passed")

	must(t, stopFar())
	// An APIService that is written is looked at again at once.
	res, body := ask(t, front.httpClient(t), "PATCH", front.URL+apiServices+"/v1."+farGroup, strings.NewReader(`{"metadata":{"labels":{"a":"b"}}}`), "Content-Type: application/merge-patch+json")
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	page := far.URL + "/apis/" + farGroup + "/v1"
	want := fmt.Sprintf("failing or missing response from %s: Get %q: dial tcp ", page, page)
	// A look that was under way when the server stopped has met another end.
	until(t, "it is "+want, func() bool {
		gone := front.available(t, "FailedDiscoveryCheck")
		return gone.Status == apiregistrationv1.ConditionFalse && strings.HasPrefix(gone.Message, want)
	})
	if res, body := ask(t, front.httpClient(t), "GET", front.URL+"/apis/"+farGroup+"/v1/crontabs", nil); res.StatusCode != http.StatusServiceUnavailable || string(body) != "service unavailable\n" {
		t.Errorf("without the other server: %d %q", res.StatusCode, body)
	}
	front.discovered(t, "Stale crontabs/2")
	// Nobody knows what the other server has in a namespace.
	must(t, namespaces.Delete(within(t), "late", metav1.DeleteOptions{}))
	const unknown = "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: far.example.com/v1: stale GroupVersion discovery: far.example.com/v1"
	until(t, "the condition says that it is not known", func() bool {
		ns, err := namespaces.Get(within(t), "late", metav1.GetOptions{})
		must(t, err)
		return slices.ContainsFunc(ns.Status.Conditions, func(c corev1.NamespaceCondition) bool {
			return c.Type == corev1.NamespaceDeletionDiscoveryFailure && c.Status == corev1.ConditionTrue && c.Reason == "DiscoveryFailed" && c.Message == unknown
		})
	})
	if res, _ := ask(t, front.httpClient(t), "DELETE", front.URL+apiServices+"/v1."+farGroup, nil); res.StatusCode != http.StatusOK {
		t.Errorf("the API service can't be deleted: %d", res.StatusCode)
	}
	until(t, "the namespace is gone, now that there is nothing to be known", func() bool {
		_, err := namespaces.Get(within(t), "late", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	until(t, "nobody has the group", func() bool {
		res, _ := ask(t, front.httpClient(t), "GET", front.URL+"/apis/"+farGroup+"/v1/crontabs", nil)
		return res.StatusCode == http.StatusNotFound
	})
	front.discovered(t, "not there")
}

// TestSlowPage: clients ask for the page of a version before they do anything, so a server that has become silent is not waited for for long.
func TestSlowPage(t *testing.T) {
	t.Parallel()
	r := start(t, withObjects("192.0.2.1"))
	r.ready(t)
	var silent atomic.Bool
	far := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("X-Remote-User") != "system:kube-aggregator" && silent.Load() {
			<-q.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"far.example.com/v1","resources":[]}`)
	}))
	t.Cleanup(far.Close)
	r.register(t, far.URL)
	r.available(t, "Passed")
	silent.Store(true)
	res, body := ask(t, r.httpClient(t), "GET", r.URL+"/apis/"+farGroup+"/v1", nil)
	if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "context deadline exceeded") {
		t.Errorf("a page that does not come: %d %s", res.StatusCode, body)
	}
}
