package kxapi

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

// maxDelay limits the delay of a step.
const maxDelay = 10 * time.Minute

func newBreakpoints(p parser, allow *recordings) ruleStorage {
	return newRules(resource[*v1alpha1.Breakpoint]{
		plural: "breakpoints", singular: "breakpoint", shortNames: []string{"bp"}, empty: &v1alpha1.BreakpointList{},
		columns: breakpointColumns, row: breakpointRow,
	}, ruleKind[*v1alpha1.Breakpoint]{
		allows:    func(*v1alpha1.Breakpoint) error { return allow.refuse("breakpoints", v1alpha1.AllowBreakpoints) },
		parse:     p.breakpoint,
		setStatus: func(b *v1alpha1.Breakpoint, status v1alpha1.RuleStatus) { b.Status = status },
	}, p.recorder.Control())
}

func newFaults(p parser, allow *recordings) ruleStorage {
	return newRules(resource[*v1alpha1.Fault]{
		plural: "faults", singular: "fault", empty: &v1alpha1.FaultList{}, columns: faultColumns, row: faultRow,
	}, ruleKind[*v1alpha1.Fault]{
		allows:    func(*v1alpha1.Fault) error { return allow.refuse("faults", v1alpha1.AllowFaults) },
		parse:     p.fault,
		setStatus: func(f *v1alpha1.Fault, status v1alpha1.RuleStatus) { f.Status = status },
	}, p.recorder.Control())
}

// oneOf replaces an empty value by the first of values, and refuses a value that is not among them.
func oneOf[T ~string](at *field.Path, value *T, values ...T) field.ErrorList {
	if *value == "" {
		*value = values[0]
	}
	if !slices.Contains(values, *value) {
		return field.ErrorList{field.NotSupported(at, *value, values)}
	}
	return nil
}

func atLeast(at *field.Path, value, least int64) field.ErrorList {
	if value < least {
		return field.ErrorList{field.Invalid(at, value, fmt.Sprintf("must be %d or more", least))}
	}
	return nil
}

// parser makes rules from objects.
type parser struct {
	recorder *trace.Recorder
	known    filter.Vocabulary // the names that filters can ask for
}

func (p parser) filter(at *field.Path, text string) (filter.Filter, field.ErrorList) {
	f, err := filter.ParseRunning(text, p.known)
	if err == nil {
		f, err = f.Resolve(p.recorder.Began)
	}
	if err != nil {
		return f, field.ErrorList{field.Invalid(at, text, err.Error())}
	}
	return f, nil
}

// breakpoint sets the defaults and returns the rule and its lease.
func (p parser) breakpoint(b *v1alpha1.Breakpoint) (*trace.Rule, time.Duration, field.ErrorList) {
	spec, s := field.NewPath("spec"), &b.Spec
	f, errs := p.filter(spec.Child("filter"), s.Filter)
	if s.Filter == "" {
		errs = append(errs, field.Required(spec.Child("filter"),
			"an empty filter would hold every request, and those that it is deleted with; verb:* holds all"))
	}
	errs = append(errs, oneOf(spec.Child("at"), &s.At, v1alpha1.AtStart, v1alpha1.AtEnd)...)
	errs = append(errs, oneOf(spec.Child("action"), &s.Action, v1alpha1.BreakpointHold, v1alpha1.BreakpointTrace)...)
	errs = append(errs, atLeast(spec.Child("skip"), s.Skip, 0)...)
	errs = append(errs, atLeast(spec.Child("count"), s.Count, 0)...)
	errs = append(errs, atLeast(spec.Child("leaseSeconds"), int64(s.LeaseSeconds), 0)...)
	rule := &trace.Rule{
		Name: b.Name, Kind: trace.Breakpoint, Filter: f, AtEnd: s.At == v1alpha1.AtEnd,
		Skip: s.Skip, Count: s.Count, Probability: 1,
	}
	if s.Action == v1alpha1.BreakpointTrace {
		rule.Kind = trace.Tracepoint
	}
	return rule, time.Duration(s.LeaseSeconds) * time.Second, errs
}

// fault sets the defaults and returns the rule.
func (p parser) fault(f *v1alpha1.Fault) (*trace.Rule, time.Duration, field.ErrorList) {
	spec, s := field.NewPath("spec"), &f.Spec
	parsed, errs := p.filter(spec.Child("filter"), s.Filter)
	if s.Effect == "" {
		errs = append(errs, field.Required(spec.Child("effect"), "what goes wrong"))
	} else {
		errs = append(errs, oneOf(spec.Child("effect"), &s.Effect,
			v1alpha1.FaultDelay, v1alpha1.FaultFail, v1alpha1.FaultTimeoutAfterCommit, v1alpha1.FaultDropWatch,
			v1alpha1.FaultLag, v1alpha1.FaultStaleCache, v1alpha1.FaultWebhookDown)...)
	}
	errs = append(errs, atLeast(spec.Child("skip"), s.Skip, 0)...)
	errs = append(errs, atLeast(spec.Child("count"), s.Count, 0)...)
	errs = append(errs, atLeast(spec.Child("retryAfterSeconds"), int64(s.RetryAfterSeconds), 0)...)
	probability := 1.0
	if s.Probability != nil {
		probability = *s.Probability
	}
	if !(0 <= probability && probability <= 1) {
		errs = append(errs, field.Invalid(spec.Child("probability"), probability, "must be between 0 and 1"))
	}
	effect, more := faultEffect(f, spec)
	return &trace.Rule{
		Name: f.Name, Kind: trace.Fault, Filter: parsed, AtEnd: s.At == v1alpha1.AtEnd,
		Skip: s.Skip, Count: s.Count, Probability: probability, Seed: uint64(s.Seed), Effect: effect,
	}, 0, append(errs, more...)
}

func faultEffect(f *v1alpha1.Fault, spec *field.Path) (effect trace.Effect, errs field.ErrorList) {
	s := &f.Spec
	effect.Delay, errs = readDelay(spec.Child("delay"), s.Delay, s.Effect == v1alpha1.FaultDelay || s.Effect == v1alpha1.FaultLag)
	message := s.Message
	if message == "" {
		message = fmt.Sprintf("injected by fault %q", f.Name)
	}
	switch s.Effect {
	case v1alpha1.FaultDelay, v1alpha1.FaultFail:
		errs = append(errs, oneOf(spec.Child("at"), &s.At, v1alpha1.AtStart, v1alpha1.AtEnd)...)
	default:
		if s.At != "" {
			errs = append(errs, field.Forbidden(spec.Child("at"), fmt.Sprintf("%s has its own place", s.Effect)))
		}
	}
	if s.Code != 0 && s.Effect != v1alpha1.FaultFail {
		errs = append(errs, field.Forbidden(spec.Child("code"), "only Fail has a code"))
	}
	if s.Outage != "" && s.Effect != v1alpha1.FaultWebhookDown {
		errs = append(errs, field.Forbidden(spec.Child("outage"), "only WebhookDown has an outage"))
	}
	switch s.Effect {
	case v1alpha1.FaultFail:
		errs = append(errs, checkCode(spec.Child("code"), s.Code)...)
		effect.Err = injectedError(s.Code, s.RetryAfterSeconds, message)
	case v1alpha1.FaultTimeoutAfterCommit:
		effect.AfterCommit = true
		effect.Err = injectedError(http.StatusGatewayTimeout, 0, message)
	case v1alpha1.FaultDropWatch:
		effect.Drop = true
	case v1alpha1.FaultLag:
		effect.Lag = true
	case v1alpha1.FaultStaleCache:
		effect.Stale = true
	case v1alpha1.FaultWebhookDown:
		if s.Delay != nil {
			errs = append(errs, field.Forbidden(spec.Child("delay"), "a silent webhook takes its timeoutSeconds"))
		}
		errs = append(errs, oneOf(spec.Child("outage"), &s.Outage,
			v1alpha1.OutageRefused, v1alpha1.OutageSilent, v1alpha1.OutageError, v1alpha1.OutageCertificate)...)
		effect.Outage = string(s.Outage)
	}
	return effect, errs
}

func readDelay(at *field.Path, delay *metav1.Duration, needed bool) (time.Duration, field.ErrorList) {
	switch {
	case delay == nil && needed:
		return 0, field.ErrorList{field.Required(at, "how long to wait, such as 200ms")}
	case delay == nil:
		return 0, nil
	case delay.Duration <= 0 || delay.Duration > maxDelay:
		return 0, field.ErrorList{field.Invalid(at, delay.Duration.String(), fmt.Sprintf("must be more than 0 and at most %s", maxDelay))}
	}
	return delay.Duration, nil
}

func checkCode(at *field.Path, code int32) field.ErrorList {
	if code < 400 || code > 599 {
		return field.ErrorList{field.Invalid(at, code, "must be the HTTP status of an error, from 400 to 599")}
	}
	return nil
}

// reasons maps the codes of injected errors to reasons, by which clients distinguish errors.
var reasons = map[int32]metav1.StatusReason{
	http.StatusBadRequest:            metav1.StatusReasonBadRequest,
	http.StatusUnauthorized:          metav1.StatusReasonUnauthorized,
	http.StatusForbidden:             metav1.StatusReasonForbidden,
	http.StatusNotFound:              metav1.StatusReasonNotFound,
	http.StatusMethodNotAllowed:      metav1.StatusReasonMethodNotAllowed,
	http.StatusConflict:              metav1.StatusReasonConflict,
	http.StatusGone:                  metav1.StatusReasonExpired,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusUnprocessableEntity:   metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:       metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError:   metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:    metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:        metav1.StatusReasonTimeout,
}

// injectedError returns an error that looks to a client like any other of its code.
func injectedError(code, retryAfterSeconds int32, message string) error {
	status := metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reasons[code], Message: message}
	if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: max(retryAfterSeconds, 1)}
	}
	return &apierrors.StatusError{ErrStatus: status}
}
