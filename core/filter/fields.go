package filter

// Kind is the type of a field's value. It decides which operators the field has.
type Kind uint8

const (
	Word     Kind = iota // ":" asks for the whole value
	Text                 // ":" asks for a part of it
	Number               // can be compared
	Duration             // can be compared; written as Go writes it: 5ms, 1.5s
	Request              // the ID of another request
)

func (k Kind) String() string { return [...]string{"word", "text", "number", "duration", "request"}[k] }

// numeric says whether values of the kind can be compared.
func (k Kind) numeric() bool { return k == Number || k == Duration }

// Field is one thing that a filter can ask about.
type Field struct {
	Name    string
	Aliases []string
	Kind    Kind
	Help    string
	Example string
	// Values are all possible values, for a field that has few.
	Values []string
	// Rare are further values. Completion leaves them out.
	Rare []string
	// Extensible says that clients can send other values too. A regular expression may ask for those.
	Extensible bool
	// OfSteps says that each step has the field: step( ) can ask for it, and anywhere else it asks whether some step
	// fulfils it.
	OfSteps bool
	// AfterEnd says that the field is known only when the request has ended: breakpoints and faults can't ask for it.
	AfterEnd bool

	// named says that a text without a field is not looked for in this one.
	named bool
	cost  int
}

// The cost of evaluating a field. Of several conditions the cheaper ones are decided first.
const (
	costRequest = iota
	costSteps   // the steps have to be read
	costObjects // the objects of the steps have to be decoded
)

// fields are in the order of help: the request, its client, its outcome, its steps.
var fields = []Field{
	{Name: "verb", Kind: Word, Help: "what the request does: get, list, watch, create, update, patch, delete, deletecollection; " +
		"or install, which must be named", Example: "verb:get,list",
		Values: []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "install"},
		Rare:   []string{"head", "post", "put", "options", "connect", "trace", "proxy"}, Extensible: true},
	{Name: "resource", Kind: Word, Help: "the plural name of what it does it to", Example: "resource:configmaps"},
	{Name: "sub", Aliases: []string{"subresource"}, Kind: Word, Help: "the part of the object that was asked for", Example: "sub:scale"},
	{Name: "group", Kind: Word, Help: "the API group", Example: "group:apps"},
	{Name: "version", Kind: Word, Help: "the API version", Example: "version:v1beta1"},
	{Name: "ns", Aliases: []string{"namespace"}, Kind: Word, Help: "the namespace", Example: "ns:kube-*"},
	{Name: "name", Kind: Word, Help: "the object's name", Example: "name:web"},
	{Name: "method", Kind: Word, Help: "the HTTP method", Example: "method:PUT", Extensible: true,
		Values: []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"}},
	{Name: "uri", Kind: Text, Help: "path and query, as sent", Example: "uri:resourceVersion=0"},
	{Name: "type", Kind: Text, Help: "the media type of the body", Example: "type:protobuf"},
	{Name: "user", Kind: Word, Help: "who asked", Example: "user:alice"},
	{Name: "agent", Kind: Text, Help: "the client program, as it names itself", Example: "agent:kubectl"},
	{Name: "ip", Kind: Word, Help: "where the request came from", Example: "ip:127.0.0.1"},
	{Name: "id", Kind: Word, Help: "the journey's name", Example: "id:*-42"},
	{Name: "after", Kind: Request, Help: "began after the request with this ID", Example: "after:3f2a1c-17", named: true},
	{Name: "cause", Kind: Word, Help: "the journey whose write made the server do it", Example: "cause:*-17"},
	{Name: "audit", Kind: Word, Help: "the request's audit ID", Example: "audit:6f1c*"},
	{Name: "trace", Kind: Word, Help: "the ID of the trace of OpenTelemetry in which it is exported", Example: "trace:4bf9*"},
	{Name: "phase", Kind: Word, Help: "running, held or done", Example: "phase:running",
		Values: []string{"running", "held", "done"}},
	{Name: "code", Aliases: []string{"status"}, Kind: Number, Help: "the HTTP status of the answer", Example: "code>=500"},
	{Name: "bytes", Kind: Number, Help: "the size of the answer's body", Example: "bytes>100000"},
	{Name: "dur", Aliases: []string{"duration"}, Kind: Duration, Help: "how long it took", Example: "dur>5ms"},
	{Name: "touched", Kind: Word, Help: "a field of the object that it changed, or one above that, if objects are recorded",
		Example:  "touched:spec.replicas",
		AfterEnd: true, named: true, cost: costObjects},
	{Name: "delivered", Kind: Text, Help: "a client program that was sent the event of its write", Example: "delivered:informer",
		AfterEnd: true, named: true, cost: costSteps},
	{Name: "steps", Kind: Number, Help: "how many steps it took; steps(...) counts those that fulfil conditions", Example: "steps>20",
		cost: costSteps},
	{Name: "step", Kind: Word, Help: "a step that it took; step(...) asks several things of one step", Example: "step:etcd.txn",
		OfSteps: true, cost: costSteps},
	{Name: "layer", Kind: Word, Help: "a layer that it reached", Example: "layer:etcd3", OfSteps: true, cost: costSteps},
	{Name: "key", Aliases: []string{"about"}, Kind: Text, Help: "what one of its steps was about: a key, a path, a resource",
		Example: "key:/registry/pods/", OfSteps: true, cost: costSteps},
	{Name: "why", Kind: Text, Help: "the reason that one of its steps gave", Example: `why:"retry"`, OfSteps: true, cost: costSteps},
	{Name: "reason", Kind: Word, Help: "the kind of that reason, in whatever words", Example: "reason:key-moved", OfSteps: true,
		cost: costSteps},
	{Name: "error", Kind: Text, Help: "the error that one of its steps ended with", Example: "error:conflict", OfSteps: true,
		cost: costSteps},
	{Name: "took", Kind: Duration, Help: "how long one of its steps took; in step(...), dur is the same", Example: "took>5ms",
		OfSteps: true, cost: costSteps},
	{Name: "changed", Kind: Number, Help: "how many fields of the object one of its steps changed, if objects are recorded",
		Example: "changed>3",
		OfSteps: true, AfterEnd: true, cost: costObjects},
}

// shorthands are names for a field with a comparison.
var shorthands = map[string]struct {
	field string
	op    comparison
}{
	"min": {"dur", greaterEqual},
	"max": {"dur", lessEqual},
}

// Fields are the fields that a filter can ask about, in the order of help.
func Fields() []Field { return append([]Field(nil), fields...) }

var byName = func() map[string]*Field {
	m := make(map[string]*Field, 2*len(fields))
	for _, f := range fields {
		m[f.Name] = &f
		for _, alias := range f.Aliases {
			m[alias] = &f
		}
	}
	return m
}()

// lookup finds a field by its name, as a request has it or, ofStep, as a step has it.
func lookup(name string, ofStep bool) (*Field, bool) {
	f, ok := byName[name]
	if ok && ofStep && f.Name == "dur" {
		f = byName["took"]
	}
	if !ok || ofStep && !f.OfSteps {
		return nil, false
	}
	return f, true
}

// The fields that a text without a field is looked for in: those of requests, and those of steps.
var requestTexts, stepTexts = func() (ofRequest, ofSteps []string) {
	for _, f := range fields {
		switch {
		case f.named || f.Kind != Word && f.Kind != Text:
		case f.OfSteps:
			ofSteps = append(ofSteps, f.Name)
		default:
			ofRequest = append(ofRequest, f.Name)
		}
	}
	return ofRequest, ofSteps
}()

func fieldNames(ofStep bool) (names []string) {
	for _, f := range fields {
		if !ofStep || f.OfSteps {
			names = append(names, f.Name)
		}
	}
	return names
}
