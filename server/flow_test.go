package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/options"
)

const flowTokens = "flooder,eve,1\nquiet,ann,2\n"

// twoSeats is a server with so few that one share is one seat.
func twoSeats(o *options.Options) {
	o.Limits.MaxRequestsInFlight, o.Limits.MaxMutatingRequestsInFlight = 1, 1
}

// share makes a level with a number of shares beside the five of catch-all, where flows are told apart by users and may wait, and a schema that leads everybody's requests
// for config maps to it.
func (r *running) share(t *testing.T, shares int32, response flowcontrolv1.LimitResponse) {
	t.Helper()
	flows := r.admin(t).FlowcontrolV1()
	_, err := flows.PriorityLevelConfigurations().Create(within(t), &flowcontrolv1.PriorityLevelConfiguration{
		ObjectMeta: named("maps-level"), Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: ptr.To(shares), LendablePercent: ptr.To[int32](0), BorrowingLimitPercent: ptr.To[int32](0), LimitResponse: response,
			},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = flows.FlowSchemas().Create(within(t), &flowcontrolv1.FlowSchema{
		ObjectMeta: named("maps"), Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "maps-level"}, MatchingPrecedence: 100,
			DistinguisherMethod: &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects:      []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: "system:authenticated"}}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, Namespaces: []string{"*"}}},
			}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	until(t, "the schema is in force", func() bool {
		fs, err := flows.FlowSchemas().Get(within(t), "maps", metav1.GetOptions{})
		must(t, err)
		return len(fs.Status.Conditions) == 1 && fs.Status.Conditions[0].Status == flowcontrolv1.ConditionFalse
	})
}

// TestFlowDangling: a schema says whether its level exists, and whose fields that are, as the levels come and go.
func TestFlowDangling(t *testing.T) {
	t.Parallel()
	r := start(t, allow)
	flows := r.admin(t).FlowcontrolV1()
	r.share(t, 1, queuing())
	await := func(status flowcontrolv1.ConditionStatus, reason, message string) {
		t.Helper()
		until(t, "the condition is "+string(status), func() bool {
			fs, err := flows.FlowSchemas().Get(within(t), "maps", metav1.GetOptions{})
			must(t, err)
			c := fs.Status.Conditions[0]
			if c.Status != status {
				return false
			}
			if c.Reason != reason || c.Message != `This FlowSchema references the PriorityLevelConfiguration object named "maps-level" `+message ||
				!slices.ContainsFunc(fs.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
					return f.Manager == "api-priority-and-fairness-config-consumer-v1" && f.Operation == metav1.ManagedFieldsOperationApply && f.Subresource == "status"
				}) {
				t.Errorf("%+v, %+v", c, fs.ManagedFields)
			}
			return true
		})
	}
	await(flowcontrolv1.ConditionFalse, "Found", "and it exists")
	level, err := flows.PriorityLevelConfigurations().Get(within(t), "maps-level", metav1.GetOptions{})
	must(t, err)
	must(t, flows.PriorityLevelConfigurations().Delete(within(t), "maps-level", metav1.DeleteOptions{}))
	await(flowcontrolv1.ConditionTrue, "NotFound", "but there is no such object")
	level.ResourceVersion = ""
	_, err = flows.PriorityLevelConfigurations().Create(within(t), level, metav1.CreateOptions{})
	must(t, err)
	await(flowcontrolv1.ConditionFalse, "Found", "and it exists")
}

func queuing() flowcontrolv1.LimitResponse {
	return flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeQueue, Queuing: &flowcontrolv1.QueuingConfiguration{Queues: 64, HandSize: 4, QueueLengthLimit: 50}}
}

// inside says whether a request of a user runs, or waits for its seat.
func (r *running) inside(t *testing.T, user string) bool {
	t.Helper()
	_, dump := ask(t, r.httpClient(t), "GET", r.URL+"/debug/api_priority_and_fairness/dump_requests?includeRequestDetails=1", nil)
	return strings.Contains(string(dump), user+",") // a cell
}

// why is the reason of a step of the newest journey that the filter selects.
func (r *running) why(t *testing.T, filter, step string) string {
	t.Helper()
	var list v1alpha1.JourneyList
	r.kx(t, "GET", "journeys?filter="+strings.ReplaceAll(filter, " ", "%20"), nil, 200, &list)
	if len(list.Items) == 0 {
		return ""
	}
	var one v1alpha1.Journey
	r.kx(t, "GET", "journeys/"+list.Items[len(list.Items)-1].Name, nil, 200, &one)
	if found := stepsOf(&one, step); len(found) > 0 {
		return found[0].Why
	}
	return ""
}

// TestFlowWaits takes the only seat of a level by a request that is delayed. Another one waits in a queue until it is given back, a watch
// gives its seat back as soon as it has begun, and administrators never wait.
func TestFlowWaits(t *testing.T) {
	t.Parallel()
	r := start(t, allow, tokens(t, flowTokens), twoSeats)
	r.share(t, 1, queuing())
	const maps = "/api/v1/namespaces/default/configmaps"
	anyone := r.anyone(t)
	r.mayView(t)
	for range 3 { // more than there are seats
		w, err := r.as(t, "quiet").CoreV1().ConfigMaps("default").Watch(within(t), metav1.ListOptions{})
		must(t, err)
		defer w.Stop()
	}
	r.fault(t, "slow", v1alpha1.FaultSpec{
		Effect: v1alpha1.FaultDelay, Delay: &metav1.Duration{Duration: 10 * time.Minute}, Filter: "step:filter.authorization user:eve", Count: 1,
	})
	send := func(token string) <-chan int { return codeOf(anyone, withToken(t, "GET", r.URL+maps, token)) }
	until(t, "the watches have given their seats back", func() bool { return !r.inside(t, "ann") })
	flooder := send("flooder")
	until(t, "eve has the seat", func() bool { return r.inside(t, "eve") })
	quiet := send("quiet")
	until(t, "ann waits", func() bool { return r.inside(t, "ann") })
	since := time.Now()
	until(t, "she has waited for long enough to be told so", func() bool { return time.Since(since) > 50*time.Millisecond })
	if res, data := ask(t, r.httpClient(t), "GET", r.URL+maps, nil); res.StatusCode != 200 {
		t.Errorf("an administrator waits: %s", data)
	}
	select {
	case code := <-flooder:
		t.Fatalf("eve was answered %d while she was delayed", code)
	case code := <-quiet:
		t.Fatalf("ann was answered %d while the seat was taken", code)
	default:
	}
	r.dumpsOfWait(t)
	r.kx(t, "DELETE", "faults/slow", nil, 200, nil)
	if first, second := <-flooder, <-quiet; min(first, second) != http.StatusOK || max(first, second) != http.StatusForbidden {
		t.Errorf("answered %d and %d", first, second)
	}
	const step = "filter.priority-and-fairness"
	if why := r.why(t, "user:eve", step); why != "flow schema maps, priority level maps-level, flow eve: it takes 1 of the level's seats" {
		t.Errorf("eve: %s", why)
	}
	if why := r.why(t, "user:ann verb:list", step); !strings.HasPrefix(why, "flow schema maps, priority level maps-level, flow ann: it waited ") || !strings.Contains(why, "in queue ") {
		t.Errorf("ann: %s", why)
	}
	if why := r.why(t, "user:kx-admin verb:list resource:configmaps", step); why != "flow schema exempt, priority level exempt: such requests never wait" {
		t.Errorf("the administrator: %s", why)
	}
}

// dumpsOfWait looks at tables and metrics while one request of maps-level runs and one waits.
func (r *running) dumpsOfWait(t *testing.T) {
	t.Helper()
	const dumps = "/debug/api_priority_and_fairness/"
	rows := func(name string) (all [][]string) {
		_, text := ask(t, r.httpClient(t), "GET", r.URL+dumps+name, nil)
		for line := range strings.Lines(string(text)) {
			cells := strings.Split(line, ",")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			if all == nil || cells[0] == "maps-level" {
				all = append(all, cells)
			}
		}
		return all
	}
	// A kube-apiserver v1.37.1 has these columns.
	for name, want := range map[string]string{
		"dump_priority_levels": "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests",
		"dump_queues":          "PriorityLevelName, Index, PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR, InitialSeatsSum, MaxSeatsSum, TotalWorkSum",
		"dump_requests":        "PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, ArriveTime, InitialSeats, FinalSeats, AdditionalLatency, StartTime",
		"dump_requests?includeRequestDetails=1": "PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, ArriveTime, InitialSeats, FinalSeats, AdditionalLatency, StartTime, " +
			"UserName, Verb, APIPath, Namespace, Name, APIVersion, Resource, SubResource",
	} {
		if got := strings.Join(rows(name)[0], ", "); got != want {
			t.Errorf("%s has the columns\n%s\nand not\n%s", name, got, want)
		}
	}
	levels := rows("dump_priority_levels")
	if len(levels) != 2 || levels[0][4] != "WaitingRequests" || levels[1][1] != "1" || levels[1][2] != "false" || levels[1][4] != "1" || levels[1][5] != "1" {
		t.Errorf("levels: %v", levels)
	}
	queues := rows("dump_queues")
	waiting, running := 0, 0
	for _, q := range queues[1:] {
		if q[2] == "1" {
			waiting++
		}
		if q[3] == "1" && q[4] == "1" {
			running++
		}
	}
	if len(queues) != 1+64 || queues[0][2] != "PendingRequests" || queues[0][3] != "ExecutingRequests" || waiting != 1 || running != 1 {
		t.Errorf("%d wait and %d run in %v", waiting, running, queues)
	}
	_, metrics := ask(t, r.httpClient(t), "GET", r.URL+"/metrics", nil)
	for _, name := range []string{
		`current_inqueue_requests{flow_schema="maps",priority_level="maps-level"}`, `current_executing_requests{flow_schema="maps",priority_level="maps-level"}`,
		`current_executing_seats{flow_schema="maps",priority_level="maps-level"}`, `dispatched_requests_total{flow_schema="maps",priority_level="maps-level"}`,
		`nominal_limit_seats{priority_level="maps-level"}`,
	} {
		// Other servers of the process may have a level of that name, and add to it.
		_, rest, _ := strings.Cut(string(metrics), "\napiserver_flowcontrol_"+name+" ")
		value, _, _ := strings.Cut(rest, "\n")
		if n, err := strconv.ParseFloat(value, 64); err != nil || n < 1 {
			t.Errorf("apiserver_flowcontrol_%s is %q", name, value)
		}
	}
}

// TestFlowHeld: whoever is held has no seat, or everybody else would wait for somebody who reads a screen.
func TestFlowHeld(t *testing.T) {
	t.Parallel()
	r := start(t, allow, tokens(t, flowTokens), twoSeats)
	r.share(t, 1, queuing())
	r.breakAt(t, "eve", v1alpha1.BreakpointSpec{Filter: "step:filter.authorization user:eve"})
	const maps = "/api/v1/namespaces/default/configmaps"
	anyone := r.anyone(t)
	code := codeOf(anyone, withToken(t, "GET", r.URL+maps, "flooder"))
	j := r.heldBy(t, "eve")
	if res, data := ask(t, anyone, "GET", r.URL+maps, nil, "Authorization: Bearer quiet"); res.StatusCode != http.StatusForbidden {
		t.Errorf("beside one who is held: %s %s", res.Status, data)
	}
	r.tell(t, j, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionContinue})
	if got := <-code; got != http.StatusForbidden {
		t.Errorf("who was held is answered %d", got)
	}
	if why := r.why(t, "user:eve", "filter.priority-and-fairness"); why != "flow schema maps, priority level maps-level, flow eve: it was held, gave its seat back, and goes on without one" {
		t.Errorf("who was held: %s", why)
	}
}

// TestExemptSeats: the library lends other levels less while exempt requests run, so administrators who watch, or are held, have no seat.
func TestExemptSeats(t *testing.T) {
	t.Parallel()
	r := start(t, allow)
	for range 5 {
		w, err := r.admin(t).CoreV1().ConfigMaps("default").Watch(within(t), metav1.ListOptions{})
		must(t, err)
		defer w.Stop()
	}
	r.breakAt(t, "held", v1alpha1.BreakpointSpec{Filter: "step:filter.authorization resource:secrets"})
	req, err := http.NewRequestWithContext(within(t), "GET", r.URL+"/api/v1/namespaces/default/secrets", nil)
	must(t, err)
	code := codeOf(r.httpClient(t), req)
	j := r.heldBy(t, "held")
	// The request that asks has a seat, and so may those of the test that end at this moment.
	until(t, "nobody but who asks has a seat", func() bool {
		_, dump := ask(t, r.httpClient(t), "GET", r.URL+"/debug/api_priority_and_fairness/dump_priority_levels", nil)
		for line := range strings.Lines(string(dump)) {
			if cells := strings.Split(line, ","); strings.TrimSpace(cells[0]) == "exempt" {
				return strings.TrimSpace(cells[5]) == "1"
			}
		}
		t.Fatalf("no level exempt in %s", dump)
		return false
	})
	r.tell(t, j, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionContinue})
	if got := <-code; got != http.StatusOK {
		t.Errorf("who was held is answered %d", got)
	}
	if why := r.why(t, "resource:secrets", "filter.priority-and-fairness"); why != "flow schema exempt, priority level exempt: such requests never wait" {
		t.Errorf("%s", why)
	}
}

// TestFlowRefuses asks a level whose requests don't wait for a second seat.
func TestFlowRefuses(t *testing.T) {
	t.Parallel()
	r := start(t, allow, tokens(t, flowTokens), twoSeats)
	r.share(t, 1, flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject})
	r.fault(t, "slow", v1alpha1.FaultSpec{
		Effect: v1alpha1.FaultDelay, Delay: &metav1.Duration{Duration: 10 * time.Minute}, Filter: "step:filter.authorization user:eve", Count: 1,
	})
	const maps = "/api/v1/namespaces/default/configmaps"
	anyone := r.anyone(t)
	code := codeOf(anyone, withToken(t, "GET", r.URL+maps, "flooder"))
	until(t, "eve has the seat", func() bool { return r.inside(t, "eve") })
	res, data := ask(t, anyone, "GET", r.URL+maps, nil, "Authorization: Bearer quiet")
	level, err := r.admin(t).FlowcontrolV1().PriorityLevelConfigurations().Get(within(t), "maps-level", metav1.GetOptions{})
	must(t, err)
	if h := res.Header; res.StatusCode != http.StatusTooManyRequests || h.Get("Retry-After") == "" || h.Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID) != string(level.UID) {
		t.Errorf("%s %v %s", res.Status, h, data)
	}
	busy(t, res, data)
	if why := r.why(t, "user:ann", "filter.priority-and-fairness"); why != "flow schema maps, priority level maps-level: others have taken all seats of the level, and its requests don't wait" {
		t.Errorf("%s", why)
	}
	r.kx(t, "DELETE", "faults/slow", nil, 200, nil)
	if got := <-code; got != http.StatusForbidden {
		t.Errorf("who had the seat was answered %d", got)
	}
}

// busy wants the text with which a kube-apiserver refuses a request for which there is no seat.
func busy(t *testing.T, res *http.Response, data []byte) {
	t.Helper()
	if kind := res.Header.Get("Content-Type"); kind != "text/plain; charset=utf-8" || res.Header.Get("X-Content-Type-Options") != "nosniff" || string(data) != "Too many requests, please try again later.\n" {
		t.Errorf("refused with %v %q", res.Header, data)
	}
}

// TestFlowGivesUp: a request waits for its seat for a quarter of its own time. So it is refused before a watch that came earlier, which has
// a quarter of --request-timeout.
func TestFlowGivesUp(t *testing.T) {
	t.Parallel()
	r := start(t, allow, tokens(t, flowTokens), twoSeats, func(o *options.Options) { o.Limits.RequestTimeout = 10 * time.Minute })
	r.share(t, 1, queuing())
	r.fault(t, "slow", v1alpha1.FaultSpec{
		Effect: v1alpha1.FaultDelay, Delay: &metav1.Duration{Duration: 10 * time.Minute}, Filter: "step:filter.authorization user:eve", Count: 1,
	})
	const maps = "/api/v1/namespaces/default/configmaps"
	anyone := r.anyone(t)
	code := codeOf(anyone, withToken(t, "GET", r.URL+maps+"?watch=true", "flooder"))
	until(t, "eve has the seat", func() bool { return r.inside(t, "eve") })
	watch := codeOf(anyone, withToken(t, "GET", r.URL+maps+"?watch=true", "quiet"))
	until(t, "ann's watch waits", func() bool { return r.inside(t, "ann") })
	res, data := ask(t, anyone, "GET", r.URL+maps+"?timeout=12s", nil, "Authorization: Bearer quiet")
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v %s", res.Status, res.Header, data)
	}
	if !r.inside(t, "ann") {
		t.Error("the watch gave up before")
	}
	if why := r.why(t, "user:ann verb:list", "filter.priority-and-fairness"); !strings.HasSuffix(why, " µs, and others had the level's seats all the while") {
		t.Errorf("%s", why)
	}
	r.kx(t, "DELETE", "faults/slow", nil, 200, nil)
	if first, second := <-code, <-watch; first != http.StatusForbidden || second != http.StatusForbidden {
		t.Errorf("who had the seat was answered %d, and the watch %d", first, second)
	}
}

// waited is how long a request waited for its seat, as its journey says: the server has measured it.
func (r *running) waited(t *testing.T, journey string) time.Duration {
	t.Helper()
	j := r.journeyOf(t, journey)
	found := stepsOf(j, "filter.priority-and-fairness")
	if len(found) != 1 || found[0].Reason == nil {
		t.Fatalf("%s was not judged", j.Spec.URI)
	}
	switch found[0].Reason.Kind {
	case "seat-there", "flow-exempt":
		return 0
	case "seat-awaited", "seat-awaited-in-queue":
		micros, err := strconv.ParseInt(found[0].Reason.Value("micros"), 10, 64)
		must(t, err)
		return time.Duration(micros) * time.Microsecond
	}
	t.Errorf("%s: %s", j.Spec.URI, found[0].Why)
	return 0
}

// mayView lets ann list and watch config maps.
func (r *running) mayView(t *testing.T) {
	t.Helper()
	_, err := r.admin(t).RbacV1().ClusterRoles().Create(within(t), &rbacv1.ClusterRole{ObjectMeta: named("views"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
	}}, metav1.CreateOptions{})
	must(t, err)
	_, err = r.admin(t).RbacV1().ClusterRoleBindings().Create(within(t), &rbacv1.ClusterRoleBinding{
		ObjectMeta: named("ann-views"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "views"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "ann"}},
	}, metav1.CreateOptions{})
	must(t, err)
	until(t, "ann may watch", func() bool {
		w, err := r.as(t, "quiet").CoreV1().ConfigMaps("default").Watch(within(t), metav1.ListOptions{})
		if err == nil {
			w.Stop()
		}
		return err == nil
	})
}

// TestFlood has one user send 200 requests at a time, each of which takes 100 ms, while another one asks again and again: the other one
// is never refused and waits less than the flood does, also when a watch begins, administrators wait never, and a watch that has begun is
// told of what happens. The waits are those that the server has measured.
func TestFlood(t *testing.T) {
	t.Parallel()
	r := start(t, allow, tokens(t, flowTokens), func(o *options.Options) {
		o.Limits.MaxRequestsInFlight, o.Limits.MaxMutatingRequestsInFlight = 40, 20
	})
	r.share(t, 5, queuing()) // half of the seats: as many shares as catch-all has
	r.fault(t, "slow", v1alpha1.FaultSpec{
		Effect: v1alpha1.FaultDelay, Delay: &metav1.Duration{Duration: 100 * time.Millisecond}, Filter: "step:filter.authorization user:eve",
	})
	r.mayView(t)
	const maps = "/api/v1/namespaces/default/configmaps"
	anyone := r.anyone(t)
	watch, err := anyone.Do(withToken(t, "GET", r.URL+maps+"?watch=true", "quiet"))
	must(t, err)
	defer watch.Body.Close()
	events := json.NewDecoder(watch.Body)
	if watch.StatusCode != http.StatusOK {
		t.Errorf("a watch: %s", watch.Status)
	}
	ctx, stop := context.WithCancel(within(t))
	var flood sync.WaitGroup
	defer flood.Wait()
	defer stop()
	var mu sync.Mutex
	var loud []time.Duration
	for range 200 {
		flood.Go(func() {
			for ctx.Err() == nil {
				begun := time.Now()
				res, err := anyone.Do(withToken(t, "GET", r.URL+maps, "flooder").WithContext(ctx))
				if err != nil {
					continue
				}
				res.Body.Close()
				if res.StatusCode != http.StatusTooManyRequests {
					mu.Lock()
					loud = append(loud, time.Since(begun))
					mu.Unlock()
				}
			}
		})
	}
	until(t, "the flood is there", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(loud) > 200
	})
	var quiet []time.Duration
	for n := range 50 {
		res, data := ask(t, anyone, "GET", r.URL+maps, nil, "Authorization: Bearer quiet")
		if res.StatusCode != http.StatusOK {
			t.Errorf("request %d of the quiet user: %s %s", n, res.Status, data)
		}
		quiet = append(quiet, r.waited(t, res.Header.Get("Kx-Journey")))
		if n%10 == 0 { // a watch needs a seat until it has begun
			begun, err := anyone.Do(withToken(t, "GET", r.URL+maps+"?watch=true", "quiet"))
			must(t, err)
			if begun.StatusCode != http.StatusOK {
				t.Errorf("a watch of the quiet user: %s", begun.Status)
			}
			quiet = append(quiet, r.waited(t, begun.Header.Get("Kx-Journey")))
			begun.Body.Close()
		}
		res, data = ask(t, r.httpClient(t), "GET", r.URL+maps, nil)
		if res.StatusCode != http.StatusOK {
			t.Errorf("an administrator: %s %s", res.Status, data)
		}
		if waited := r.waited(t, res.Header.Get("Kx-Journey")); waited > 0 {
			t.Errorf("an administrator waited %s", waited)
		}
	}
	mu.Lock() // the flood goes on
	took := slices.Sorted(slices.Values(loud))
	mu.Unlock()
	// A machine that has much else to do makes both of them wait.
	slices.Sort(quiet)
	half, most := took[len(took)/2], quiet[len(quiet)*9/10]
	t.Logf("half of %d requests of the flood took %s; nine tenths of the quiet ones waited %s at most", len(took), half, most)
	if most >= half {
		t.Errorf("the quiet user waited %v", quiet)
	}
	_, err = r.admin(t).CoreV1().ConfigMaps("default").Create(within(t), &corev1.ConfigMap{ObjectMeta: named("told")}, metav1.CreateOptions{})
	must(t, err)
	for told := false; !told; {
		var event struct {
			Object metav1.PartialObjectMetadata `json:"object"`
		}
		must(t, events.Decode(&event))
		told = event.Object.Name == "told"
	}
	w, err := r.admin(t).CoreV1().ConfigMaps("").Watch(within(t), metav1.ListOptions{})
	must(t, err)
	w.Stop()
}

// TestWorkEstimates has requests take the seats that their lists, and those who watch, are worth.
func TestWorkEstimates(t *testing.T) {
	t.Parallel()
	r := start(t, tokens(t, flowTokens), prefilled, uncollected, func(o *options.Options) {
		o.Limits.MaxRequestsInFlight, o.Limits.MaxMutatingRequestsInFlight = 4000, 4000 // a request gets a part of its level at most
	})
	r.share(t, 5, queuing())
	r.mayView(t)
	const maps = "/api/v1/namespaces/default/configmaps"
	for i := range 30 {
		_, err := r.admin(t).CoreV1().ConfigMaps("default").Create(within(t), &corev1.ConfigMap{
			ObjectMeta: named(fmt.Sprint("large-", i)), Data: map[string]string{"a": strings.Repeat("x", 40_000)},
		}, metav1.CreateOptions{})
		must(t, err)
	}
	last, err := r.admin(t).CoreV1().ConfigMaps("default").Get(within(t), "large-29", metav1.GetOptions{})
	must(t, err)
	until(t, "the cache has all", func() bool {
		var c v1alpha1.Cache
		r.kx(t, "GET", "caches/configmaps", nil, 200, &c)
		return c.Status.State == v1alpha1.CacheFresh && c.Status.Lag == 0
	})
	anyone := r.anyone(t)
	seats := func(method, path, body string) string {
		t.Helper()
		req := withToken(t, method, r.URL+path, "quiet")
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		req.Header.Set("Content-Type", "application/json")
		res, err := anyone.Do(req)
		must(t, err)
		res.Body.Close()
		found := stepsOf(r.journeyOf(t, res.Header.Get("Kx-Journey")), "filter.priority-and-fairness")
		if len(found) != 1 {
			t.Fatal("it was not judged")
		}
		return found[0].Reason.Value("seats")
	}
	for path, want := range map[string]string{
		"": "10", "?resourceVersion=0": "10", "?limit=4": "2", "/large-1": "1", "?fieldSelector=metadata.name%3Dlarge-1": "1",
		"?resourceVersionMatch=Exact&resourceVersion=" + last.ResourceVersion:         "13",
		"?resourceVersionMatch=Exact&limit=8&resourceVersion=" + last.ResourceVersion: "4",
	} {
		if got := seats("GET", maps+path, ""); got != want {
			t.Errorf("%s takes %s seats, want %s", path, got, want)
		}
	}
	for range 25 {
		w, err := r.as(t, "quiet").CoreV1().ConfigMaps("default").Watch(within(t), metav1.ListOptions{ResourceVersion: last.ResourceVersion})
		must(t, err)
		defer w.Stop()
	}
	if got := seats("POST", maps, `{"metadata":{"name":"watched"}}`); got != "3" {
		t.Errorf("a write that 25 watches are told of takes %s seats", got)
	}
	if got := seats("POST", "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"unwatched"}}`); got != "1" {
		t.Errorf("a write that nobody is told of takes %s seats", got)
	}
}

// TestFlowOff serves without levels, and says what can't be shared.
func TestFlowOff(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *options.Options) { o.Limits.PriorityAndFairness = false })
	if res, _ := ask(t, r.httpClient(t), "GET", r.URL+"/debug/api_priority_and_fairness/dump_queues", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("%s", res.Status)
	}
	res, _ := ask(t, r.httpClient(t), "GET", r.URL+"/api/v1/namespaces", nil)
	if _, ok := res.Header[http.CanonicalHeaderKey(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)]; ok || res.StatusCode != 200 {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	if why := r.why(t, "resource:namespaces verb:list", "filter.in-flight"); why != "" {
		t.Errorf("%s", why)
	}
}

// codeOf sends a request in the background, and tells the code of its answer, or 0 if there is none.
func codeOf(client *http.Client, req *http.Request) <-chan int {
	code := make(chan int, 1)
	go func() {
		res, err := client.Do(req)
		if err != nil {
			code <- 0
			return
		}
		res.Body.Close()
		code <- res.StatusCode
	}()
	return code
}

func withToken(t *testing.T, method, url, token string) *http.Request {
	req, err := http.NewRequestWithContext(within(t), method, url, nil)
	must(t, err)
	req.Header.Set("Authorization", fmt.Sprint("Bearer ", token))
	return req
}
