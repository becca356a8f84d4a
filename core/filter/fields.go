package filter

import "strings"

// Kind is the type of a field's value. It decides which operators the field has.
type Kind uint8

const (
	Word     Kind = iota // ":" asks for the whole value
	Text                 // ":" asks for a part of it
	Number               // can be compared
	Duration             // can be compared; written as Go writes it: 5ms, 1.5s
)

func (k Kind) String() string { return [...]string{"word", "text", "number", "duration"}[k] }

// Field is one thing that a filter can ask about.
type Field struct {
	Name    string
	Aliases []string
	Kind    Kind
	Help    string
	Example string
	// Values are all possible values, for a field that has few.
	Values []string
}

// fields are in the order of help: the request, its client, its outcome, its steps.
var fields = []Field{
	{Name: "verb", Kind: Word, Help: "what the request does: get, list, watch, create, update, patch, delete, deletecollection", Example: "verb:get,list",
		Values: []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}},
	{Name: "resource", Kind: Word, Help: "the plural name of what it does it to", Example: "resource:configmaps"},
	{Name: "sub", Aliases: []string{"subresource"}, Kind: Word, Help: "the part of the object that was asked for", Example: "sub:scale"},
	{Name: "group", Kind: Word, Help: "the API group", Example: "group:apps"},
	{Name: "version", Kind: Word, Help: "the API version", Example: "version:v1beta1"},
	{Name: "ns", Aliases: []string{"namespace"}, Kind: Word, Help: "the namespace", Example: "ns:kube-*"},
	{Name: "name", Kind: Word, Help: "the object's name", Example: "name:web"},
	{Name: "method", Kind: Word, Help: "the HTTP method", Example: "method:PUT"},
	{Name: "uri", Kind: Text, Help: "path and query, as sent", Example: "uri:resourceVersion=0"},
	{Name: "type", Kind: Text, Help: "the media type of the body", Example: "type:protobuf"},
	{Name: "user", Kind: Word, Help: "who asked", Example: "user:alice"},
	{Name: "agent", Kind: Text, Help: "the client program, as it names itself", Example: "agent:kubectl"},
	{Name: "ip", Kind: Word, Help: "where the request came from", Example: "ip:127.0.0.1"},
	{Name: "id", Kind: Word, Help: "the journey's name", Example: "id:*-42"},
	{Name: "audit", Kind: Word, Help: "the request's audit ID", Example: "audit:6f1c*"},
	{Name: "phase", Kind: Word, Help: "running, held or done", Example: "phase:running",
		Values: []string{"running", "held", "done"}},
	{Name: "code", Aliases: []string{"status"}, Kind: Number, Help: "the HTTP status of the answer", Example: "code>=500"},
	{Name: "bytes", Kind: Number, Help: "the size of the answer's body", Example: "bytes>100000"},
	{Name: "dur", Aliases: []string{"duration"}, Kind: Duration, Help: "how long it took", Example: "dur>5ms"},
	{Name: "steps", Kind: Number, Help: "how many steps it took", Example: "steps>20"},
	{Name: "step", Kind: Word, Help: "a step that it took", Example: "step:etcd.txn"},
	{Name: "layer", Kind: Word, Help: "a layer that it reached", Example: "layer:etcd3"},
	{Name: "key", Kind: Text, Help: "what one of its steps was about: a key, a path, a resource", Example: "key:/registry/pods/"},
	{Name: "why", Kind: Text, Help: "the reason that one of its steps gave", Example: `why:"retry"`},
	{Name: "reason", Kind: Word, Help: "the kind of that reason, in whatever words", Example: "reason:key-moved"},
	{Name: "error", Kind: Text, Help: "the error that one of its steps ended with", Example: "error:conflict"},
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

var byName = func() map[string]int {
	m := make(map[string]int, 2*len(fields))
	for i, f := range fields {
		m[f.Name] = i
		for _, alias := range f.Aliases {
			m[alias] = i
		}
	}
	return m
}()

// textFields are the fields that a text without a field is searched in.
var textFields = func() []string {
	var names []string
	for _, f := range fields {
		if f.Kind == Word || f.Kind == Text {
			names = append(names, f.Name)
		}
	}
	return names
}()

func fieldNames() string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}
