package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Breakpoint holds the requests that reach a step. It belongs to one process, never changes, and ends with the
// process. Deleting it releases the held requests. A user who may create one can hold the requests of all users.
type Breakpoint struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Where requests are held.
	Spec BreakpointSpec `json:"spec"`
	// How often that was.
	// +optional
	Status RuleStatus `json:"status,omitempty"`
}

// StepEdge is the beginning or the end of a step.
type StepEdge string

const (
	AtStart StepEdge = "Start"
	AtEnd   StepEdge = "End"
)

// BreakpointAction is the effect of a breakpoint.
type BreakpointAction string

const (
	// BreakpointHold holds the request until it gets a command, by journeys/step.
	BreakpointHold BreakpointAction = "Hold"
	// BreakpointTrace does not hold the request: it counts the hit and records it in the journey.
	BreakpointTrace BreakpointAction = "Trace"
)

// BreakpointSpec says where requests are held.
type BreakpointSpec struct {
	// Which steps of which requests, in the language of filters: step:etcd.txn resource:configmaps. A filter that does
	// not ask about steps (step, layer, key, why, error, steps, dur) finds each request once, at its first step.
	Filter string `json:"filter"`
	// Start or End of the step; Start by default.
	// +optional
	At StepEdge `json:"at,omitempty"`
	// Hold or Trace; Hold by default.
	// +optional
	Action BreakpointAction `json:"action,omitempty"`
	// How many matches to let pass first.
	// +optional
	Skip int64 `json:"skip,omitempty"`
	// How many to hold at most; 0 is without limit.
	// +optional
	Count int64 `json:"count,omitempty"`
	// For how long the breakpoint stays if no client watches breakpoints or sends a command to a held request. Then
	// it is deleted. 0 keeps it until a client deletes it.
	// +optional
	LeaseSeconds int32 `json:"leaseSeconds,omitempty"`
}

// RuleStatus counts how often a breakpoint or a fault matched.
type RuleStatus struct {
	// How many steps its filter found.
	Matches int64 `json:"matches"`
	// For how many of them it did something.
	Hits int64 `json:"hits"`
	// How many it would have held, had there not been too many held already.
	// +optional
	Missed int64 `json:"missed,omitempty"`
	// How many requests it holds now.
	// +optional
	Held int32 `json:"held,omitempty"`
	// The last hit.
	// +optional
	LastHit *RuleHit `json:"lastHit,omitempty"`
}

// RuleHit is where a breakpoint or a fault was met.
type RuleHit struct {
	// The request's journey; empty if it was no request's, but a cache's.
	Journey string `json:"journey"`
	// The step's ID.
	Step string           `json:"step"`
	Time metav1.MicroTime `json:"time"`
}

// BreakpointList is a list of breakpoints, in the order of their names.
type BreakpointList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +listType=atomic
	Items []Breakpoint `json:"items"`
}

// Fault makes requests fail at a step. It belongs to one process, never changes, and ends with the process. A user
// who may create one can make the requests of all users fail.
type Fault struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The failure, and where it happens.
	Spec FaultSpec `json:"spec"`
	// How often it did.
	// +optional
	Status RuleStatus `json:"status,omitempty"`
}

// FaultEffect is the kind of failure.
type FaultEffect string

const (
	// FaultDelay makes the step wait first, as if its backend were slow. The request's deadline goes on.
	FaultDelay FaultEffect = "Delay"
	// FaultFail makes the step fail with an HTTP status, without doing its work. At its End, the work is done.
	FaultFail FaultEffect = "Fail"
	// FaultTimeoutAfterCommit makes a write succeed in etcd, while its client gets a 504.
	FaultTimeoutAfterCommit FaultEffect = "TimeoutAfterCommit"
	// FaultDropWatch ends a watch instead of sending it an event, without a word to its client. At cacher.dispatch it
	// ends all watches that the event is for; at cacher.reflect and cacher.process-event the one that the cache has in
	// etcd.
	FaultDropWatch FaultEffect = "DropWatch"
	// FaultLag makes events of watches arrive later than they would, in their order. Bookmarks and errors wait only for
	// the events before them.
	FaultLag FaultEffect = "Lag"
	// FaultStaleCache has a watch cache hold back what etcd tells it, for a time or as long as the fault is there.
	FaultStaleCache FaultEffect = "StaleCache"
	// FaultWebhookDown makes calls of admission and conversion webhooks go wrong, as if the webhook were down. The
	// webhook is not called. What follows is as ever: its failurePolicy decides.
	FaultWebhookDown FaultEffect = "WebhookDown"
)

// Outage is the way in which a webhook is down.
type Outage string

const (
	// OutageRefused: nothing listens at its address.
	OutageRefused Outage = "Refused"
	// OutageSilent: it takes the request and never answers, so that the webhook's timeoutSeconds pass.
	OutageSilent Outage = "Silent"
	// OutageError: it answers 500.
	OutageError Outage = "Error"
	// OutageCertificate: its certificate is of an authority that the caBundle does not have.
	OutageCertificate Outage = "Certificate"
)

// FaultSpec describes the failure, and where it happens.
type FaultSpec struct {
	// Which steps of which requests, in the language of filters. A filter that does not ask about steps (step, layer,
	// key, why, error, steps, dur) finds each request once, at the first step where it can fail in this way; DropWatch
	// and Lag find each event, WebhookDown each call. Work of caches is found by StaleCache, and by a filter that asks
	// for the step: cacher.reflect, cacher.process-event or cacher.dispatch. Such a step has the resource, group, key,
	// ns and name of the change.
	// +optional
	Filter string `json:"filter,omitempty"`
	// Delay, Fail, TimeoutAfterCommit, DropWatch, Lag, StaleCache or WebhookDown.
	Effect FaultEffect `json:"effect"`
	// How a webhook is down: Refused, Silent, Error or Certificate; Refused by default. A filter names the webhook by
	// key, which is configuration/webhook, and of a conversion webhook its address.
	// +optional
	Outage Outage `json:"outage,omitempty"`
	// Start or End of the step, for Delay and Fail; Start by default.
	// +optional
	At StepEdge `json:"at,omitempty"`
	// How long to wait first. Delay and Lag need it, others may have it; StaleCache waits for as long as the fault is
	// there without.
	// +optional
	Delay *metav1.Duration `json:"delay,omitempty"`
	// The HTTP status of Fail, from 400 to 599, such as 409, 410, 429 or 503.
	// +optional
	Code int32 `json:"code,omitempty"`
	// The error message for the client. By default it says that the error was injected.
	// +optional
	Message string `json:"message,omitempty"`
	// Seconds after which the client may try again, sent with 429 or 503; 1 by default.
	// +optional
	RetryAfterSeconds int32 `json:"retryAfterSeconds,omitempty"`
	// How many matches to let pass first.
	// +optional
	Skip int64 `json:"skip,omitempty"`
	// How many to hit at most; 0 is without limit.
	// +optional
	Count int64 `json:"count,omitempty"`
	// The probability that a match is hit, from 0 to 1; 1 by default.
	// +optional
	Probability *float64 `json:"probability,omitempty"`
	// Decides, with the number of a match, whether it is hit: the same seed makes the same decisions.
	// +optional
	Seed int64 `json:"seed,omitempty"`
}

// FaultList is a list of faults, in the order of their names.
type FaultList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +listType=atomic
	Items []Fault `json:"items"`
}

// JourneyCommand tells a held request what to do. It is created in journeys/step; the answer is the journey when it is
// held again or has ended, or as it is after a second.
type JourneyCommand struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata; the name is the journey's.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The command.
	Spec JourneyCommandSpec `json:"spec"`
}

// JourneyAction is the action of a command to a held request.
type JourneyAction string

const (
	// ActionNext goes on to the next step that this one does not call.
	ActionNext JourneyAction = "next"
	// ActionInto goes on to the next step.
	ActionInto JourneyAction = "into"
	// ActionOut goes on to the next step that the caller of this one does not call.
	ActionOut JourneyAction = "out"
	// ActionContinue goes on to the next breakpoint.
	ActionContinue JourneyAction = "continue"
	// ActionFail has the step fail.
	ActionFail JourneyAction = "fail"
	// ActionDelay has the step wait for a while, during which the request's deadline goes on.
	ActionDelay JourneyAction = "delay"
	// ActionEdit changes the object that the step is about. The request stays held.
	ActionEdit JourneyAction = "edit"
	// ActionDrop ends a watch, held or not, without a word to its client. It is allowed where faults are.
	ActionDrop JourneyAction = "drop"
)

// JourneyCommandSpec is a command to a held request.
type JourneyCommandSpec struct {
	// next, into, out, continue, fail, delay, edit or drop.
	Action JourneyAction `json:"action"`
	// The index of the step, if the request is held at several: work on many objects is done in parallel.
	// +optional
	Step *int32 `json:"step,omitempty"`
	// The HTTP status to fail with, from 400 to 599.
	// +optional
	Code int32 `json:"code,omitempty"`
	// The error message for the client when it fails. By default it says that the error was injected.
	// +optional
	Message string `json:"message,omitempty"`
	// How long to delay.
	// +optional
	Delay *metav1.Duration `json:"delay,omitempty"`
	// The change, as a JSON merge patch of the object. Name, namespace, UID and resourceVersion stay.
	// +optional
	Patch *runtime.RawExtension `json:"patch,omitempty"`
}

// HeldStep is a step at which a request is held.
type HeldStep struct {
	// The step's index and ID.
	Step int32  `json:"step"`
	ID   string `json:"id"`
	// Start or End.
	At StepEdge `json:"at"`
	// The rule that holds it, such as breakpoint "name".
	By string `json:"by"`
	// Since when.
	Since metav1.MicroTime `json:"since"`
	// The actions that are possible now.
	// +listType=atomic
	Actions []JourneyAction `json:"actions"`
}

// Intervention is something that was done to a request, and would not have happened by itself.
type Intervention struct {
	// Traced, Held, Delayed, Edited, Failed or Dropped.
	Kind string `json:"kind"`
	// The index of the step, and whether it happened at its Start or End.
	Step int32    `json:"step"`
	At   StepEdge `json:"at"`
	// The rule that caused it, such as fault "name".
	By string `json:"by"`
	// The user who decided, if one did.
	// +optional
	User string `json:"user,omitempty"`
	// A description of the effect.
	Message string `json:"message"`
	// When it began, in microseconds from the beginning of the journey, and how long it took.
	StartMicros int64 `json:"startMicros"`
	TookMicros  int64 `json:"tookMicros"`
}

// Compaction makes etcd forget its history before a revision. It is created, and done then; it is not kept.
type Compaction struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The revisions to drop.
	// +optional
	Spec CompactionSpec `json:"spec,omitempty"`
	// The result.
	// +optional
	Status CompactionStatus `json:"status,omitempty"`
}

// CompactionSpec says what etcd forgets.
type CompactionSpec struct {
	// The revision before which all is dropped; the present one by default.
	// +optional
	Revision int64 `json:"revision,omitempty"`
}

// CompactionStatus describes the revisions that etcd has dropped.
type CompactionStatus struct {
	// The revision before which all is forgotten.
	Revision int64 `json:"revision"`
	// How long that took, in microseconds.
	TookMicros int64 `json:"tookMicros"`
}

// OpenAPIModelName returns the name of the type's definition.
func (Compaction) OpenAPIModelName() string         { return "dev.kx.v1alpha1.Compaction" }
func (CompactionSpec) OpenAPIModelName() string     { return "dev.kx.v1alpha1.CompactionSpec" }
func (CompactionStatus) OpenAPIModelName() string   { return "dev.kx.v1alpha1.CompactionStatus" }
func (Breakpoint) OpenAPIModelName() string         { return "dev.kx.v1alpha1.Breakpoint" }
func (BreakpointList) OpenAPIModelName() string     { return "dev.kx.v1alpha1.BreakpointList" }
func (BreakpointSpec) OpenAPIModelName() string     { return "dev.kx.v1alpha1.BreakpointSpec" }
func (RuleStatus) OpenAPIModelName() string         { return "dev.kx.v1alpha1.RuleStatus" }
func (RuleHit) OpenAPIModelName() string            { return "dev.kx.v1alpha1.RuleHit" }
func (Fault) OpenAPIModelName() string              { return "dev.kx.v1alpha1.Fault" }
func (FaultList) OpenAPIModelName() string          { return "dev.kx.v1alpha1.FaultList" }
func (FaultSpec) OpenAPIModelName() string          { return "dev.kx.v1alpha1.FaultSpec" }
func (JourneyCommand) OpenAPIModelName() string     { return "dev.kx.v1alpha1.JourneyCommand" }
func (JourneyCommandSpec) OpenAPIModelName() string { return "dev.kx.v1alpha1.JourneyCommandSpec" }
func (HeldStep) OpenAPIModelName() string           { return "dev.kx.v1alpha1.HeldStep" }
func (Intervention) OpenAPIModelName() string       { return "dev.kx.v1alpha1.Intervention" }
