package rules

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// Effect is a failure that a fault can inject at a step.
type Effect struct {
	Title, Help string
	// Why is the reason why the step can't fail so; empty if it can.
	Why string
	// Fault has only effect, code and delay set.
	Fault v1alpha1.FaultSpec
}

// statuses lists plausible error statuses, with their meaning to clients.
var statuses = []struct {
	code int32
	help string
	of   []string // the verbs that are answered so; nil for all
}{
	{http.StatusConflict, "another writer was first: clients read again and retry", writing},
	{http.StatusGone, "the revision is too old: clients list anew", []string{"list", "watch"}},
	{http.StatusTooManyRequests, "clients wait, and repeat the request", nil},
	{http.StatusInternalServerError, "something broke: clients do not know whether it was done", nil},
	{http.StatusServiceUnavailable, "clients wait, and repeat the request", nil},
	{http.StatusGatewayTimeout, "it took too long: clients do not know whether it was done", nil},
}

var writing = []string{"create", "update", "patch", "delete", "deletecollection"}

var watching = []string{"watch"}

// waits lists plausible delays of a call, or of an event.
var waits = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

// Effects lists the possible failures at a step of requests of a verb. step and verb are empty if they are unknown.
func Effects(step, verb string) []Effect {
	is := func(verbs []string) bool { return verbs == nil || verb == "" || slices.Contains(verbs, verb) }
	var all []Effect
	if id, ok := steps.Lookup(step); !ok || id.Info().Fails {
		for _, s := range statuses {
			if is(s.of) {
				e := statusEffect(s.code)
				e.Help = s.help
				all = append(all, e)
			}
		}
	}
	for _, d := range waits {
		all = append(all, delayEffect(d))
	}
	if is(writing) {
		all = append(all, timeout())
	}
	if CallsWebhook(step) || step == "" && verb == "" {
		all = append(all, outages...)
	}
	if is(watching) {
		all = append(all, watchEffects(step)...)
	}
	return all
}

// watchEffects lists the failures of the events that a watch sends. The faults act at the step that sends an event.
func watchEffects(step string) []Effect {
	all := []Effect{{
		Title: "drop the watch", Help: "it ends instead of sending an event, without a word to its client",
		Fault: v1alpha1.FaultSpec{Effect: v1alpha1.FaultDropWatch},
	}}
	for _, d := range waits {
		all = append(all, lagEffect(d))
	}
	for i := range all {
		all[i].Why = whyNoEvents(step)
	}
	return all
}

// whyNoEvents explains why a fault at a step, empty if it is unknown, finds no events.
func whyNoEvents(step string) string {
	if step == "" || step == steps.HandlerWatchEvent.String() {
		return ""
	}
	return "only at the step handler.watch-event"
}

// CallsWebhook says whether a step calls a webhook.
func CallsWebhook(step string) bool {
	return step == steps.HandlerWebhook.String() || step == steps.CRDWebhook.String()
}

// outages lists the ways in which a webhook is down.
var outages = []Effect{
	outage("the webhook is down", "nothing listens at its address: its failurePolicy decides", v1alpha1.OutageRefused),
	outage("the webhook is silent", "it never answers, so that its timeoutSeconds pass: its failurePolicy decides",
		v1alpha1.OutageSilent),
	outage("the webhook answers 500", "it is called and fails: its failurePolicy decides", v1alpha1.OutageError),
	outage("the webhook's certificate is foreign", "its caBundle does not verify it: its failurePolicy decides",
		v1alpha1.OutageCertificate),
}

func outage(title, help string, how v1alpha1.Outage) Effect {
	return Effect{Title: title, Help: help, Fault: v1alpha1.FaultSpec{Effect: v1alpha1.FaultWebhookDown, Outage: how}}
}

func statusEffect(code int32) Effect {
	return Effect{
		Title: strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(int(code)))),
		Help:  "the step fails, and does not do what it is there for",
		Fault: v1alpha1.FaultSpec{Effect: v1alpha1.FaultFail, Code: code},
	}
}

func delayEffect(d time.Duration) Effect {
	return Effect{
		Title: "wait " + d.String(), Help: "as if etcd were slow: the request's deadline goes on",
		Fault: v1alpha1.FaultSpec{Effect: v1alpha1.FaultDelay, Delay: &metav1.Duration{Duration: d}},
	}
}

// lag is the word before the time of a typed lag.
const lag = "lag "

func lagEffect(d time.Duration) Effect {
	return Effect{
		Title: lag + d.String(), Help: "its events come later, in their order",
		Fault: v1alpha1.FaultSpec{Effect: v1alpha1.FaultLag, Delay: &metav1.Duration{Duration: d}},
	}
}

func timeout() Effect {
	return Effect{
		Title: "time out after the commit", Help: "etcd has the write, and the client is told 504",
		Fault: v1alpha1.FaultSpec{Effect: v1alpha1.FaultTimeoutAfterCommit},
	}
}

// The texts that can be typed instead of choosing.
const (
	Typed    = "or type a status, such as 422, or a time, such as 250ms"
	TypedLag = "or type a status, such as 422, a time, such as 250ms, or lag 250ms"
)

// Hint explains which texts can be typed for requests of a verb.
func Hint(verb string) string {
	if mayLag(verb) {
		return TypedLag
	}
	return Typed
}

// mayLag reports whether requests of a verb, empty if it is unknown, may have events.
func mayLag(verb string) bool { return verb == "" || slices.Contains(watching, verb) }

// ReadEffect parses a typed effect: a status, a time, or the lag of a watch.
func ReadEffect(step, verb, text string) (Effect, error) {
	if code, err := strconv.Atoi(text); err == nil {
		if code < 400 || code > 599 {
			return Effect{}, fmt.Errorf("%d is no HTTP status of an error: 400 to 599", code)
		}
		return statusEffect(int32(code)), nil
	}
	late, lags := strings.CutPrefix(text, lag)
	d, err := time.ParseDuration(strings.TrimSpace(late))
	switch {
	case lags && !mayLag(verb):
		return Effect{}, fmt.Errorf("%q: only watches have events that come later", text)
	case err != nil || d <= 0:
		return Effect{}, fmt.Errorf("%q: type a status such as 422, or a time such as 250ms", text)
	case lags:
		e := lagEffect(d)
		e.Why = whyNoEvents(step)
		return e, nil
	}
	return delayEffect(d), nil
}
