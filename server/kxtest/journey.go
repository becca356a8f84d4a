package kxtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// waitMost limits the wait of MustSee and MustHit: a controller may need several tries.
	waitMost = 10 * time.Second
	// lookEvery is the pause between two looks.
	lookEvery = 5 * time.Millisecond
	// reasonsMost limits the requests whose reasons are read.
	reasonsMost = 200
	// shownMost limits the requests in an error message.
	shownMost = 8
)

// Journey is a request and its answer.
type Journey struct {
	// ID names the request, for kx trace show.
	ID string
	// Method and URI are HTTP's. Verb is authorization's: get, list, watch, create, update, patch, delete.
	Method, URI, Verb string
	// What the request is about; empty for those about no resource.
	Group, Resource, Subresource, Namespace, Name string
	// User and Agent name the user and the client program.
	User, Agent string
	// ImpersonatedUser is the user that it asked to act as, if another one.
	ImpersonatedUser string
	// Code is the HTTP status of the answer, or of the ERROR event that ended a watch; 0 while there is none.
	Code int
	// Bytes is the size of the answer's body; 0 while the request runs.
	Bytes int64
	// Revision is etcd's revision of its last write; 0 if it wrote nothing.
	Revision int64
	// Reason is the error of an answer from 400 on, for people.
	Reason string
	// Faults has what was done to it on purpose: Held, Delayed, Edited, Failed or Dropped.
	Faults []string
	// Started is when it began, and Took how long it lasted; 0 while it runs.
	Started time.Time
	Took    time.Duration
}

// String is the request in one line.
func (j Journey) String() string {
	text := fmt.Sprintf("%s %s", j.Method, j.URI)
	if j.Code != 0 {
		text += fmt.Sprintf(" %d", j.Code)
	}
	text += fmt.Sprintf(" by %s with %s", j.User, j.Agent)
	if j.Took == 0 {
		text += fmt.Sprintf(", running for %v", time.Since(j.Started).Round(time.Millisecond))
	}
	if j.Reason != "" {
		text += ": " + j.Reason
	}
	return text
}

// record is a journey as kx's API has it.
type record struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Method, URI, Verb, Group, Resource, Subresource, Namespace, Name, User, ImpersonatedUser, UserAgent string
	} `json:"spec"`
	Status struct {
		Phase      string           `json:"phase"`
		Started    metav1.MicroTime `json:"started"`
		TookMicros int64            `json:"tookMicros"`
		Code       int              `json:"code"`
		Bytes      int64            `json:"bytes"`
		Revision   int64            `json:"revision"`
		WatchError int              `json:"watchError"`
		Touched    []string         `json:"touched"`
		Steps      []struct {
			Parent int    `json:"parent"`
			Error  string `json:"error"`
		} `json:"steps"`
	} `json:"status"`
}

func (r *record) journey() Journey {
	q, st := &r.Spec, &r.Status
	j := Journey{
		ID: r.Metadata.Name, Method: q.Method, URI: q.URI, Verb: q.Verb, Group: q.Group, Resource: q.Resource,
		Subresource: q.Subresource, Namespace: q.Namespace, Name: q.Name,
		User: q.User, Agent: q.UserAgent, ImpersonatedUser: q.ImpersonatedUser,
		Code: st.Code, Bytes: st.Bytes, Revision: st.Revision, Faults: st.Touched,
		Started: st.Started.Time, Took: time.Duration(st.TookMicros) * time.Microsecond,
	}
	if st.WatchError != 0 {
		j.Code = st.WatchError
	}
	return j
}

// reason is the error of the failed step to which the fewest others led, which is the client's answer.
func (r *record) reason() (text string) {
	least := -1
	for i, step := range r.Status.Steps {
		if step.Error == "" {
			continue
		}
		depth := 0
		for at := i; at >= 0 && r.Status.Steps[at].Parent < at; at = r.Status.Steps[at].Parent {
			depth++
		}
		if least < 0 || depth <= least {
			text, least = step.Error, depth
		}
	}
	return text
}

// journeys returns the requests that match a filter.
func (c *client) journeys(ctx context.Context, filter string) (all []Journey, err error) {
	var list struct {
		Items []record `json:"items"`
	}
	if err := c.call(ctx, "GET", kxPath+"journeys?filter="+url.QueryEscape(filter), nil, &list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		all = append(all, list.Items[i].journey())
	}
	return all, nil
}

// explain adds the reasons of answers that are errors.
func (c *client) explain(ctx context.Context, all []Journey) error {
	read := 0
	for i := range all {
		if all[i].Code < 400 || read == reasonsMost {
			continue
		}
		read++
		var whole record
		err := c.call(ctx, "GET", kxPath+"journeys/"+all[i].ID, nil, &whole)
		if code(err) == 404 {
			continue // the server has forgotten it meanwhile
		}
		if err != nil {
			return err
		}
		all[i].Reason = whole.reason()
	}
	return nil
}

// number counts the requests of a server. Journeys of other things have none.
func number(id string) (int, bool) {
	n, err := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	return n, err == nil
}

// Journeys returns the requests since the start of the test that match a filter of kx's language, in the order in which
// they began: "verb:update code:409", "agent:manager !verb:get,list,watch". Those of this package are not among them.
// An empty filter matches all. If none matches, the resources that the filter names have to exist.
func (s *Server) Journeys(t testing.TB, filter string) []Journey {
	t.Helper()
	found, err := s.look(filter)
	if err != nil {
		s.fatal(t, err)
	}
	return found
}

// look is find, and refuses a filter that matches nothing because the server has no such resource.
func (s *Server) look(filter string) ([]Journey, error) {
	found, err := s.find(filter)
	if err != nil || len(found) > 0 {
		return found, err
	}
	return nil, s.checkNames(filter)
}

// resourceTerms finds the resources in a filter.
var resourceTerms = regexp.MustCompile(`\bresource[:=]"?([a-zA-Z0-9.,*-]+)`)

func (s *Server) checkNames(filter string) error {
	for _, term := range resourceTerms.FindAllStringSubmatch(filter, -1) {
		for _, plural := range strings.Split(term[1], ",") {
			name, group, qualified := strings.Cut(plural, ".")
			if strings.Contains(plural, "*") {
				continue
			}
			if qualified {
				return fmt.Errorf("%q: the group of a resource is a term of its own: resource:%s group:%s", filter, name, group)
			}
			if err := s.client.checkResource("*", plural); err != nil {
				return fmt.Errorf("%q: %w", filter, err)
			}
		}
	}
	return nil
}

// window returns the journey that the server must not forget, and the number after which the test's requests begin.
func (s *Server) window() (begin string, since int) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	return s.begin, s.since
}

func (s *Server) find(filter string) (found []Journey, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callMost)
	defer cancel()
	all, err := s.client.journeys(ctx, filter)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", filter, err)
	}
	begin, since := s.window()
	for _, j := range all {
		if n, ok := number(j.ID); ok && n > since && j.ID != begin {
			found = append(found, j)
		}
	}
	return found, s.client.explain(ctx, found)
}

// Count returns how many requests match a filter so far. It fails the test if the server has forgotten requests.
func (s *Server) Count(t testing.TB, filter string) int {
	t.Helper()
	found, err := s.settled(filter)
	if err != nil {
		s.fatal(t, err)
	}
	return len(found)
}

// MustSee waits until a request matches a filter, and returns all that do. It fails the test if that takes too long.
func (s *Server) MustSee(t testing.TB, filter string) []Journey {
	t.Helper()
	look := s.look // once, since no later look knows better which resources there are
	for deadline := time.Now().Add(waitMost); ; time.Sleep(lookEvery) {
		found, err := look(filter)
		if err != nil {
			s.fatal(t, err)
		}
		if len(found) > 0 {
			return found
		}
		if time.Now().After(deadline) {
			t.Fatalf("kxtest: no request matched %q in %v", filter, waitMost)
		}
		look = s.find
	}
}

// MustNotSee fails the test if a request has matched a filter until now. It waits for the answers of the requests that
// are under way. The test also fails if the server has forgotten requests of the test: one of them may have matched.
func (s *Server) MustNotSee(t testing.TB, filter string) {
	t.Helper()
	found, err := s.settled(filter)
	if err != nil {
		s.fatal(t, err)
	}
	if len(found) == 0 {
		return
	}
	t.Fatalf("kxtest: %d requests matched %q:%s", len(found), filter, linesOf(found))
}

// overwrites is the filter of updates that replaced an object, whatever revision it had.
const overwrites = "verb:update code:200 reason:unconditional-update"

// MustNotOverwrite fails the test if clients of a filter have overwritten objects unseen: by an update (PUT) without a
// resourceVersion, which loses without a conflict what others have written since the client read the object. Such an
// update counts even if it changed nothing. Refused ones do not count, nor those that created the object. The test
// also fails if no request matches the filter, or if the server has forgotten requests.
func (s *Server) MustNotOverwrite(t testing.TB, filter string) {
	t.Helper()
	_, err := s.of(filter)
	if err != nil {
		s.fatal(t, err)
	}
	found, err := s.find(both(filter, overwrites))
	if err != nil {
		s.fatal(t, err)
	}
	if len(found) > 0 {
		t.Fatalf("kxtest: %d updates of %q had no resourceVersion, and overwrote what was stored:%s", len(found), filter, linesOf(found))
	}
}

// both is the filter of what matches two filters. The first may be empty.
func both(filter, more string) string {
	if strings.TrimSpace(filter) == "" {
		return more
	}
	return "(" + filter + ") " + more
}

// notOfServer is the filter that leaves out the requests of the server's own controllers.
const notOfServer = `!user:"system:apiserver" !agent~"^kx/"`

// of is settled for an assertion about clients: it refuses a filter that no request matches, since that holds for
// whatever the clients did.
func (s *Server) of(filter string) ([]Journey, error) {
	found, err := s.settled(filter)
	if err != nil || len(found) > 0 {
		return found, err
	}
	all, err := s.find(notOfServer)
	if err != nil {
		return nil, err
	}
	clients := map[string]bool{}
	for _, j := range all {
		clients[fmt.Sprintf("user:%s agent:%s", j.User, agentName(j.Agent))] = true
	}
	if len(clients) == 0 {
		return nil, fmt.Errorf("no request matches %q: the server had none in this test", filter)
	}
	return nil, fmt.Errorf("no request matches %q; the clients are %s", filter, strings.Join(keys(clients), ", "))
}

// agentName is the name of a client program: the user agent without its version and platform.
func agentName(agent string) string {
	name, _, _ := strings.Cut(agent, "/")
	return name
}

// settleMost limits the wait for the answers of requests that are under way.
const settleMost = 2 * time.Second

// settled is find, once the requests that run now are answered, and if the server remembers all of the test.
func (s *Server) settled(filter string) ([]Journey, error) {
	if err := s.settle(); err != nil {
		return nil, err
	}
	found, err := s.look(filter)
	if err != nil {
		return nil, err
	}
	// Requests are forgotten in the order of their ends, so that the first one is forgotten before all others.
	ctx, cancel := context.WithTimeout(context.Background(), callMost)
	defer cancel()
	begin, _ := s.window()
	switch err := s.client.call(ctx, "GET", kxPath+"journeys/"+begin, nil, nil); {
	case code(err) == 404:
		return nil, fmt.Errorf("%q: the server has forgotten the first requests of the test, since it keeps the latest %d; "+
			`Flags("--max-journeys=…") makes it keep more`, filter, journeysMost)
	case err != nil:
		return nil, err
	}
	return found, nil
}

// settle waits until the requests that run now are answered: a client may know its answer before the server has
// recorded it.
func (s *Server) settle() error {
	ctx, cancel := context.WithTimeout(context.Background(), settleMost)
	defer cancel()
	before := map[string]bool(nil)
	for {
		running, err := s.client.journeys(ctx, "phase:running !verb:watch")
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		still := map[string]bool{}
		for _, j := range running {
			if before == nil || before[j.ID] {
				still[j.ID] = true
			}
		}
		if len(still) == 0 || ctx.Err() != nil {
			return nil
		}
		before = still
		time.Sleep(lookEvery)
	}
}
