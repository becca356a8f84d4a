package aggregator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/service"
	"github.com/kx-apiserver/kx/server/webhook"
	"github.com/kx-apiserver/kx/store"
)

// resource is the resource of APIServices.
var resource = apiregistrationv1.SchemeGroupVersion.WithResource("apiservices")

const (
	controllerName = "apiservice-status-remote-available-controller"

	// every is the pause between checks of a reachable server. afterFailure is the first pause after a failure; it
	// doubles up to longestPause.
	every        = 30 * time.Second
	afterFailure = time.Second
	longestPause = 5 * time.Second

	// checksMost limits the concurrent checks. attempts is the number of concurrent requests in one check: a service
	// may have several endpoints, and one that answers is enough.
	checksMost, attempts = 8, 5
	// answerWait limits the time of a server's answer about itself, and answerMost its size.
	answerWait = 5 * time.Second
	answerMost = 16 << 20
)

// asking is this server's user when it queries others about themselves. That user may see all of their resources.
var asking = &user.DefaultInfo{Name: "system:kube-aggregator", Groups: []string{user.SystemPrivilegedGroup}}

// follow adopts the servers of all APIServices, at once after each change, until ctx ends.
func (s *Server) follow(ctx context.Context, changes <-chan struct{}) {
	var unfollow func() // nil while there are no servers
	defer func() {
		if unfollow != nil {
			unfollow()
		}
		for _, r := range *s.remotes.Load() {
			r.stop()
		}
	}()
	for {
		var again <-chan time.Time
		if all, err := s.all(ctx); err == nil {
			s.adopt(ctx, all)
			s.adopted.Store(true)
		} else if ctx.Err() == nil {
			s.config.Kit.Log.Warn("cannot read the API services: those that name a service stay as they are known", "error", err)
			again = time.After(longestPause)
		}
		switch remotes := len(*s.remotes.Load()); {
		case remotes > 0 && unfollow == nil:
			unfollow = s.followServices(ctx)
		case remotes == 0 && unfollow != nil:
			unfollow()
			unfollow = nil
		}
		select {
		case <-changes:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// followServices triggers a check of all servers when a service or its endpoints change, until stop is called.
func (s *Server) followServices(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	changes := make(chan struct{}, 1)
	following.Go(func() {
		for {
			select {
			case <-changes:
				for _, r := range *s.remotes.Load() {
					r.wakeUp()
				}
			case <-ctx.Done():
				return
			}
		}
	})
	follow := func(resource schema.GroupVersionResource, name func(metav1.Object) string) {
		following.Go(func() {
			work.Changes(ctx, s.config.Kit.Storages, resource, func(m metav1.Object) bool {
				for _, r := range *s.remotes.Load() {
					if r.ref.Namespace == m.GetNamespace() && r.ref.Name == name(m) {
						return true
					}
				}
				return false
			}, changes)
		})
	}
	follow(service.Services, metav1.Object.GetName)
	follow(service.EndpointSlices, func(m metav1.Object) string { return m.GetLabels()[discoveryv1.LabelServiceName] })
	return func() {
		cancel()
		following.Wait()
	}
}

// all returns the APIServices that name a service.
func (s *Server) all(ctx context.Context) ([]*apiregistrationv1.APIService, error) {
	all, err := s.registered.Readable(ctx, "")
	return slices.DeleteFunc(all, func(one *apiregistrationv1.APIService) bool { return one.Spec.Service == nil }), err
}

// adopt replaces the current servers by those of the APIServices. A server whose spec has not changed keeps the result
// of its checks. A change of the status, which checks write themselves, triggers no check.
func (s *Server) adopt(ctx context.Context, all []*apiregistrationv1.APIService) {
	before, now := *s.remotes.Load(), map[schema.GroupVersion]*remote{}
	for _, one := range all {
		gv := schema.GroupVersion{Group: one.Spec.Group, Version: one.Spec.Version}
		if old := before[gv]; old != nil && old.uid == one.UID && apiequality.Semantic.DeepEqual(old.spec, one.Spec) {
			now[gv] = old
			known := old.registered.Swap(one)
			if !maps.Equal(known.Labels, one.Labels) || !maps.Equal(known.Annotations, one.Annotations) {
				old.wakeUp()
			}
			continue
		}
		now[gv] = newRemote(one, s.config.Certificate)
	}
	s.remotes.Store(&now)
	for gv, old := range before {
		if now[gv] == old {
			continue
		}
		old.stop() // from now on it no longer describes the version
		old.transport.CloseIdleConnections()
		if next := now[gv]; next != nil {
			next.hasV3 = old.hasV3 // the old description stays until the next check
			continue
		}
		s.config.Discovery.RemoveRemote(gv)
		s.config.OpenAPI.RemovePart(gv, partV3)
		s.config.OpenAPI.RemovePart(gv, partV2)
	}
	for gv, r := range now {
		if before[gv] != r {
			s.start(ctx, gv, r)
		}
	}
}

// start starts the checks of a server.
func (s *Server) start(ctx context.Context, gv schema.GroupVersion, r *remote) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.check(ctx, gv, r) })
	r.stop = func() {
		cancel()
		running.Wait()
	}
}

// check checks a server at once, after each wakeUp, and regularly, until ctx ends.
func (s *Server) check(ctx context.Context, gv schema.GroupVersion, r *remote) {
	for pause := afterFailure; ; {
		again := every
		if s.checkOnce(ctx, gv, r) {
			pause = afterFailure
		} else {
			again, pause = pause, min(2*pause, longestPause)
		}
		select {
		case <-r.wake:
			pause = afterFailure
		case <-time.After(again):
		case <-ctx.Done():
			return
		}
	}
}

// checkOnce checks a server and writes its condition. It returns false if the server is unreachable or
// the write fails.
func (s *Server) checkOnce(ctx context.Context, gv schema.GroupVersion, r *remote) bool {
	select {
	case s.seats <- struct{}{}:
		defer func() { <-s.seats }()
	case <-ctx.Done():
		return false
	}
	ctx = s.config.Kit.Gate.Decide(ctx)
	condition := s.judge(ctx, r)
	if ctx.Err() != nil {
		return false
	}
	there := condition.Status == yes
	if there {
		r.away.Store(nil)
	} else {
		r.away.Store(&condition.Message)
	}
	if err := s.write(ctx, r.registered.Load(), *condition); err != nil {
		if ctx.Err() == nil && !errors.Is(err, store.ErrRewound) {
			s.config.Kit.Log.Warn("cannot write whether an API service is available", "name", r.name, "error", err)
		}
		there = false
	}
	s.describe(ctx, gv, r, there)
	return there
}

var remoteJudged = trace.Because("remote-judged",
	"whether its server is there has changed: {message:quote}",
	"其服务器是否可用有了变化：{message:quote}")

// write writes the condition if it has changed.
func (s *Server) write(ctx context.Context, one *apiregistrationv1.APIService, condition apiregistrationv1.APIServiceCondition) error {
	decision := work.Decision{Cause: causeOf(one), Why: func(step *trace.Step) { step.WhyText(remoteJudged, condition.Message) }}
	next := one.DeepCopy()
	helper.SetAPIServiceCondition(next, condition)
	if apiequality.Semantic.DeepEqual(one.Status, next.Status) {
		return nil
	}
	return work.UnlessOvertaken(s.registered.Update(ctx, one, "status", decision, func(now *apiregistrationv1.APIService) (bool, error) {
		before := now.DeepCopy()
		helper.SetAPIServiceCondition(now, condition)
		return !apiequality.Semantic.DeepEqual(before.Status, now.Status), nil
	}))
}

// causeOf returns the revision of an APIService without a condition, because its creation caused the check. Otherwise
// the cause is unknown.
func causeOf(one *apiregistrationv1.APIService) int64 {
	if helper.GetAPIServiceConditionByType(one, apiregistrationv1.Available) != nil {
		return 0
	}
	revision, err := strconv.ParseInt(one.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return revision
}

const yes, no, unknown = apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse, apiregistrationv1.ConditionUnknown

func condition(status apiregistrationv1.ConditionStatus, reason, format string, args ...any) *apiregistrationv1.APIServiceCondition {
	return &apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: status, LastTransitionTime: metav1.Now(), Reason: reason,
		Message: fmt.Sprintf(format, args...),
	}
}

// judge returns the condition of a server, with upstream's texts. A server whose address is configured needs no
// service.
func (s *Server) judge(ctx context.Context, r *remote) *apiregistrationv1.APIServiceCondition {
	if _, told := s.config.Services.Addresses.Address(r.ref.Namespace, r.ref.Name, portOf(r.ref)); !told {
		if missing := s.judgeService(ctx, r.ref); missing != nil {
			return missing
		}
	}
	if r.broken != nil {
		return condition(no, "FailedDiscoveryCheck", "%v", r.broken)
	}
	if err := s.reach(ctx, r); err != nil {
		return condition(no, "FailedDiscoveryCheck", "%s", withoutSource(err))
	}
	return condition(yes, "Passed", "all checks passed")
}

// ofConnection matches the name of a connection in errors of the net package: both addresses, or the text of a DNS
// error that quotes them.
var ofConnection = regexp.MustCompile(`\b((?:tcp|udp)[46]?) \S+->`)

// withoutSource removes the addresses of this side from an error. Their ports differ from connection to connection, so
// the message of the condition would change with each check.
func withoutSource(err error) string { return ofConnection.ReplaceAllString(err.Error(), "$1 ") }

// judgeService returns the condition for a service that can't be used, nil if it can.
func (s *Server) judgeService(ctx context.Context, ref apiregistrationv1.ServiceReference) *apiregistrationv1.APIServiceCondition {
	svc, found, err := s.config.Services.Get(ctx, ref.Namespace, ref.Name)
	switch {
	case err != nil:
		return condition(unknown, "ServiceAccessError", "service/%s in %q cannot be checked due to: %v", ref.Name, ref.Namespace, err)
	case !found:
		return condition(no, "ServiceNotFound", "service/%s in %q is not present", ref.Name, ref.Namespace)
	case svc.Spec.Type != corev1.ServiceTypeClusterIP:
		return nil
	}
	i := slices.IndexFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == portOf(ref) })
	if i < 0 {
		return condition(no, "ServicePortError", "service/%s in %q is not listening on port %d", ref.Name, ref.Namespace, portOf(ref))
	}
	port := svc.Spec.Ports[i].Name
	endpoints, err := s.config.Services.Slices(ctx, ref.Namespace, ref.Name)
	switch {
	case err != nil:
		return condition(unknown, "EndpointsAccessError", "service/%s in %q cannot be checked due to: %v", ref.Name, ref.Namespace, err)
	case len(endpoints) == 0:
		return condition(no, "EndpointsNotFound", "cannot find endpointslices for service/%s in %q", ref.Name, ref.Namespace)
	case !slices.ContainsFunc(endpoints, func(e *discoveryv1.EndpointSlice) bool { return service.Listens(e, port) }):
		return condition(no, "MissingEndpoints", "endpointslices for service/%s in %q have no addresses with port name %q",
			ref.Name, ref.Namespace, port)
	}
	return nil
}

// reach requests the page of the version, several times at once.
func (s *Server) reach(ctx context.Context, r *remote) (err error) {
	answers := make(chan error, attempts)
	for range attempts {
		go func() {
			host, err := s.locate(ctx, r.ref)
			if err == nil {
				var answer *http.Response
				if answer, err = r.ask(ctx, host, r.page(), "*/*"); err == nil {
					err = answer.Body.Close()
				}
			}
			answers <- err
		}()
	}
	for range attempts {
		if err = <-answers; err == nil {
			return nil
		}
	}
	r.transport.CloseIdleConnections()
	return err
}

// page returns the path at which a server must answer.
func (r *remote) page() string {
	if r.spec.Group == "" {
		return "/api/" + r.spec.Version
	}
	return "/apis/" + r.spec.Group + "/" + r.spec.Version
}

// ask queries a server about itself. It returns only successful answers, whose size is limited.
func (r *remote) ask(ctx context.Context, host, path, accept string) (*http.Response, error) {
	address := "https://" + host + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	transport.SetAuthProxyHeaders(req, asking.GetName(), "", asking.GetGroups(), nil)
	answer, err := client(webhook.Documents(r.transport, answerMost), answerWait).Do(req)
	if err != nil {
		return nil, fmt.Errorf("failing or missing response from %s: %w", address, err)
	}
	if answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusMultipleChoices {
		_ = answer.Body.Close() // only the code matters
		return nil, &badStatus{address, answer.StatusCode}
	}
	return answer, nil
}

// badStatus is the error for an answer whose code is not a success.
type badStatus struct {
	address string
	code    int
}

func (b *badStatus) Error() string {
	return fmt.Sprintf("failing or missing response from %s: bad status from %s: %d", b.address, b.address, b.code)
}

// client returns a client that follows no redirects. If timeout is 0, only the context of the request limits the time.
func client(over http.RoundTripper, timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		Transport:     over,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// read calls ask and reads the whole body.
func (r *remote) read(ctx context.Context, host, path, accept string) (body []byte, mediaType string, err error) {
	answer, err := r.ask(ctx, host, path, accept)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(answer.Body); err != nil {
		return nil, "", fmt.Errorf("read the answer of https://%s%s: %w", host, path, err)
	}
	return body, answer.Header.Get("Content-Type"), nil
}
