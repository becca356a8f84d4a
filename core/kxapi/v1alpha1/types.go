package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Journey is one request's trip through a server. Its name is the ID that the response carried in the header
// Kx-Journey. Lists and watches have journeys without their steps.
type Journey struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The resourceVersion counts the changes of all journeys of one process.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The request.
	Spec JourneySpec `json:"spec"`
	// The result.
	Status JourneyStatus `json:"status"`
}

// The verb and the method of a journey without a request: the installation of a resource. Lists and watches have such
// journeys only if their filter or field selector names the verb.
const (
	VerbInstall   = "install"
	MethodInstall = "INSTALL"
)

// IsInstall says whether the journey is an install, which no request made.
func (j *Journey) IsInstall() bool { return j.Spec.Verb == VerbInstall }

// JourneySpec is the request.
type JourneySpec struct {
	// HTTP's method; INSTALL for an install.
	Method string `json:"method"`
	// Path and query.
	URI string `json:"uri"`
	// The verb for authorization; install for the installation of a resource.
	// +optional
	Verb string `json:"verb,omitempty"`
	// +optional
	Group string `json:"group,omitempty"`
	// +optional
	Version string `json:"version,omitempty"`
	// +optional
	Resource string `json:"resource,omitempty"`
	// +optional
	Subresource string `json:"subresource,omitempty"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	ContentType string `json:"contentType,omitempty"`
	// The user, by authentication.
	// +optional
	User string `json:"user,omitempty"`
	// The user that the request asked to act as, if another one. If that was not allowed, the step
	// filter.impersonation refused the request.
	// +optional
	ImpersonatedUser string `json:"impersonatedUser,omitempty"`
	// +optional
	UserAgent string `json:"userAgent,omitempty"`
	// +optional
	SourceIP string `json:"sourceIP,omitempty"`
	// The ID of the request in the audit log.
	// +optional
	AuditID string `json:"auditID,omitempty"`
	// The trace of OpenTelemetry in which the request is exported.
	// +optional
	TraceID string `json:"traceID,omitempty"`
}

// JourneyPhase says whether a journey has ended.
type JourneyPhase string

const (
	JourneyRunning  JourneyPhase = "Running"
	JourneyHeld     JourneyPhase = "Held"
	JourneyComplete JourneyPhase = "Complete"
)

// JourneyStatus is the result of a request.
type JourneyStatus struct {
	// Running, Held or Complete.
	Phase JourneyPhase `json:"phase"`
	// When the request came in, in microseconds.
	Started metav1.MicroTime `json:"started"`
	// How long it took, in microseconds; 0 while it runs.
	TookMicros int64 `json:"tookMicros"`
	// HTTP's status code; 0 while there is none.
	Code int32 `json:"code"`
	// The code of the ERROR event that ended a watch whose answer had begun; 0 if none did.
	// +optional
	WatchError int32 `json:"watchError,omitempty"`
	// How many bytes the answer had.
	Bytes int64 `json:"bytes"`
	// The recorded level: Steps, or Objects too.
	Level string `json:"level"`
	// Where the request is held.
	// +optional
	// +listType=atomic
	Held []HeldStep `json:"held,omitempty"`
	// For how long it was held so far, in microseconds.
	// +optional
	HeldMicros int64 `json:"heldMicros,omitempty"`
	// The interventions of rules and commands: Held, Delayed, Edited, Failed, Dropped.
	// +optional
	// +listType=atomic
	Touched []string `json:"touched,omitempty"`
	// The same one by one. Lists and watches leave them out.
	// +optional
	// +listType=atomic
	Interventions []Intervention `json:"interventions,omitempty"`
	// How many steps, attributes and objects were left out because the journey was full.
	// +optional
	Cut int32 `json:"cut,omitempty"`
	// How many steps there are, also where they are left out.
	// +optional
	StepCount int32 `json:"stepCount,omitempty"`
	// How often an update was tried, each time on another state; 0 for other requests.
	// +optional
	Tries int32 `json:"tries,omitempty"`
	// etcd's revision of the request's last write; 0 if it wrote nothing.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// The cause of work of the server that no client requested.
	// +optional
	Cause *Cause `json:"cause,omitempty"`
	// Work of the server that the request's writes caused, or that it did for the request. Lists and watches leave it
	// out.
	// +optional
	// +listType=atomic
	Effects []Effect `json:"effects,omitempty"`
	// The steps in the order in which they began. Lists and watches leave them out.
	// +optional
	// +listType=atomic
	Steps []Step `json:"steps,omitempty"`
	// The sentences of the steps' reasons, each once. Lists and watches leave them out.
	// +optional
	// +listType=atomic
	Sentences []Sentence `json:"sentences,omitempty"`
	// Steps of the watch cache with the events of the request's writes, in their order.
	// +optional
	// +listType=atomic
	Marks []Mark `json:"marks,omitempty"`
	// The watch events that the request's write caused, on their way to the watchers of this process.
	// +optional
	// +listType=atomic
	Deliveries []Delivery `json:"deliveries,omitempty"`
}

// Step is one call in one layer.
type Step struct {
	// The step's ID, such as etcd3.get.
	ID string `json:"id"`
	// The layer: filter, handler, rest, store, dryrun, cacher, etcd3, transform or etcd.
	Layer string `json:"layer"`
	// A description of the step.
	Title string `json:"title"`
	// The function that took the step, as compiled into this server, and where.
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int32  `json:"line"`
	// The function of the Kubernetes API server that does the same, its file, and the release that it was read in.
	Upstream     string `json:"upstream"`
	UpstreamFile string `json:"upstreamFile"`
	// +optional
	UpstreamRelease string `json:"upstreamRelease,omitempty"`
	// The index of the step that called this one; -1 for none.
	Parent int32 `json:"parent"`
	// When it began, in microseconds from the beginning of the journey.
	StartMicros int64 `json:"startMicros"`
	// How long it took, in nanoseconds; -1 while it runs.
	TookNanos int64 `json:"tookNanos"`
	// The subject of the step: a key, a path, a resource.
	// +optional
	Subject string `json:"subject,omitempty"`
	// Why it went the way it did.
	// +optional
	Why string `json:"why,omitempty"`
	// The same as a kind and values, which do not depend on the words.
	// +optional
	Reason *Reason `json:"reason,omitempty"`
	// +optional
	Error string `json:"error,omitempty"`
	// Input and output of the step.
	// +optional
	// +listType=atomic
	Attributes []Attribute `json:"attributes,omitempty"`
	// The object before and after the step changed it, if objects are recorded. Secrets are masked.
	// +optional
	Before *runtime.RawExtension `json:"before,omitempty"`
	// +optional
	After *runtime.RawExtension `json:"after,omitempty"`
}

// Reason is why a step went the way it did.
type Reason struct {
	// The kind, such as cached-at-revision.
	Kind string `json:"kind"`
	// The values in the sentence, by name.
	// +optional
	// +listType=atomic
	Values []Attribute `json:"values,omitempty"`
	// The line of code that gave the reason, and its function, if the server's source tells them.
	// +optional
	Function string `json:"function,omitempty"`
	// +optional
	File string `json:"file,omitempty"`
	// +optional
	Line int32 `json:"line,omitempty"`
}

// Place is a line of the server's source and its function.
type Place struct {
	Function, File string
	Line           int32
}

// DecisionPlace returns the line that gave the step's reason, or the line that began the step if no other is known.
func (s *Step) DecisionPlace() Place {
	if r := s.Reason; r != nil && r.File != "" && r.Line > 0 {
		return Place{r.Function, r.File, r.Line}
	}
	return Place{s.Function, s.File, s.Line}
}

// Sentence is a reason in the languages that the server has. Readers put the values of a step into its placeholders.
type Sentence struct {
	// The kind of the reasons that it is for, such as cached-at-revision.
	Kind string `json:"kind"`
	// The sentence, in which {revision} is a number, {state:word} a text of the server's own, and {error:quote} one
	// that may quote the request.
	English string `json:"english"`
	// The same in Chinese.
	Chinese string `json:"chinese"`
}

// Attribute is one thing that went into a step or came out of it.
type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Mark describes the work of a shared goroutine on the event of a write.
type Mark struct {
	// The step's ID, such as cacher.process-event.
	ID string `json:"id"`
	// The layer, as of steps.
	Layer string `json:"layer"`
	// A description of the event.
	Title string `json:"title"`
	// The function that did it, as compiled into this server, and where.
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int32  `json:"line"`
	// The function of the Kubernetes API server that does the same, its file, and the release that it was read in.
	Upstream     string `json:"upstream"`
	UpstreamFile string `json:"upstreamFile"`
	// +optional
	UpstreamRelease string `json:"upstreamRelease,omitempty"`
	// etcd's revision of the write.
	Revision int64 `json:"revision"`
	// How long after the beginning of the write's journey that was, in microseconds.
	AfterMicros int64 `json:"afterMicros"`
}

// Delivery is a watch event that a write caused, sent to one watcher.
type Delivery struct {
	// The journey of the watch.
	Watcher string `json:"watcher"`
	// +optional
	User string `json:"user,omitempty"`
	// +optional
	UserAgent string `json:"userAgent,omitempty"`
	// ADDED, MODIFIED or DELETED.
	Type string `json:"type"`
	// etcd's revision of the write.
	Revision int64 `json:"revision"`
	// How long after the beginning of the write's journey the event was sent, in microseconds.
	AfterMicros int64 `json:"afterMicros"`
}

// Cause is the write that triggered work of the server without a request.
type Cause struct {
	// The journey that wrote; empty if it is not known: another server's, or one that was not recorded.
	// +optional
	Journey string `json:"journey,omitempty"`
	// etcd's revision of the write, which the server saw.
	Revision int64 `json:"revision"`
}

// Effect is a journey that another one caused.
type Effect struct {
	Journey string `json:"journey"`
	// Which part of the server did it, such as kx/naming-controller.
	UserAgent string `json:"userAgent"`
	// The verb and the resource of the effect.
	Verb     string `json:"verb"`
	Resource string `json:"resource"`
	// +optional
	Subresource string `json:"subresource,omitempty"`
	// etcd's revision of its last write; 0 if it wrote nothing.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// How long after the beginning of the cause's journey it began, in microseconds.
	AfterMicros int64 `json:"afterMicros"`
}

// Path returns the resource and the subresource, such as customresourcedefinitions/status.
func (e *Effect) Path() string {
	if e.Subresource == "" {
		return e.Resource
	}
	return e.Resource + "/" + e.Subresource
}

// JourneyList is a list of journeys, oldest first.
type JourneyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +listType=atomic
	Items []Journey `json:"items"`
}
