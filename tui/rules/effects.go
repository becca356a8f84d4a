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

// waits lists plausible delays of a call.
var waits = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

// Effects lists the possible failures at a step of requests of a verb. step and verb are empty if they are unknown.
func Effects(step, verb string) []Effect {
	is := func(verbs []string) bool { return verbs == nil || verb == "" || slices.Contains(verbs, verb) }
	var all []Effect
	if id, ok := steps.Lookup(step); !ok || id.Info().Fails {
		for _, s := range statuses {
			if is(s.of) {
				e := failing(s.code)
				e.Help = s.help
				all = append(all, e)
			}
		}
	}
	for _, d := range waits {
		all = append(all, waiting(d))
	}
	if is(writing) {
		all = append(all, timeout())
	}
	if is([]string{"watch"}) {
		all = append(all, Effect{
			Title: "drop the watch", Help: "it ends instead of sending an event, without a word to its client",
			Fault: v1alpha1.FaultSpec{Effect: v1alpha1.FaultDropWatch},
		})
	}
	return all
}

func failing(code int32) Effect {
	return Effect{
		Title: strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(int(code)))),
		Help:  "the step fails, and does not do what it is there for",
		Fault: v1alpha1.FaultSpec{Effect: v1alpha1.FaultFail, Code: code},
	}
}

func waiting(d time.Duration) Effect {
	return Effect{
		Title: "wait " + d.String(), Help: "as if etcd were slow: the request's deadline goes on",
		Fault: v1alpha1.FaultSpec{Effect: v1alpha1.FaultDelay, Delay: &metav1.Duration{Duration: d}},
	}
}

func timeout() Effect {
	return Effect{
		Title: "time out after the commit", Help: "etcd has the write, and the client is told 504",
		Fault: v1alpha1.FaultSpec{Effect: v1alpha1.FaultTimeoutAfterCommit},
	}
}

// Typed explains the texts that can be typed instead of choosing.
const Typed = "or type a status, such as 422, or a time, such as 250ms"

// ReadEffect parses a typed effect: a status or a time.
func ReadEffect(text string) (Effect, error) {
	if code, err := strconv.Atoi(text); err == nil {
		if code < 400 || code > 599 {
			return Effect{}, fmt.Errorf("%d is no HTTP status of an error: 400 to 599", code)
		}
		return failing(int32(code)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return Effect{}, fmt.Errorf("%q: type a status such as 422, or a time such as 250ms", text)
	}
	return waiting(d), nil
}
