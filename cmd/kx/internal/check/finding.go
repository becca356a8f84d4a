package check

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/filter"
)

// Messages that name a field.
var (
	// strictField matches the warning about an unknown field, or about a duplicate one in JSON.
	strictField = regexp.MustCompile(`^(?:unknown|duplicate) field "(.+)"$`)
	// strictLine matches the warning about a duplicate field in YAML. Lines count from the beginning of the document.
	strictLine = regexp.MustCompile(`^line (\d+): (key (.+) already set in map)$`)
	// absent matches the error about a namespace that does not exist.
	absent = regexp.MustCompile(`^namespaces ".*" not found$`)
	// decoding matches an error of Go's JSON decoder. Its paths have no indexes.
	decoding = regexp.MustCompile(`cannot unmarshal (\w+)(?: \S+)? into Go struct field \w+\.(\S+) of type`)
	// unhandled matches an error of any decoder.
	unhandled = regexp.MustCompile(` in version "\S+" cannot be handled as an? `)
	// leading matches a message that begins with a field.
	leading = regexp.MustCompile(`^((?:spec|metadata|data|rules|webhooks|subsets|template)[\w.\[\]"/-]*): `)
	// deprecation matches the warning about a deprecated version.
	deprecation = regexp.MustCompile(`^\S+ \w+ is deprecated`)
)

// refusals returns the findings of an answer that refuses a document: one for each cause that names a field, or one
// with the whole message if none does. A cause without a field follows if no finding has its text yet: if two policies
// refuse, the message has the first alone. There is at least one finding.
func (d *document) refusals(status *metav1.Status) []Finding {
	var all []Finding
	var rest []string
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Field == "" || cause.Field == "<nil>" { // the second is a nil field.Path as text
				rest = append(rest, cause.Message)
				continue
			}
			all = append(all, Finding{
				Level: Refusal, Position: d.field(cause.Field, nil), Field: cause.Field,
				Message: cause.Field + ": " + cause.Message,
			})
		}
	}
	if len(all) == 0 {
		all = append(all, d.finding(Refusal, status.Message))
	}
	for _, message := range rest {
		if !slices.ContainsFunc(all, func(f Finding) bool { return strings.Contains(f.Message, message) }) {
			all = append(all, d.finding(Refusal, message))
		}
	}
	return all
}

// finding returns a finding at the field that a message names. Without one, it is about the document.
func (d *document) finding(level Level, message string) Finding {
	f := Finding{Level: level, Position: d.position, Message: message}
	if m := strictField.FindStringSubmatch(message); m != nil {
		f.Field = m[1]
		if path, err := strconv.Unquote(`"` + f.Field + `"`); err == nil {
			f.Field = path // for built-in kinds, the message quotes it as Go does
		}
		f.Position = d.field(f.Field, nil)
		return f
	}
	if m := strictLine.FindStringSubmatch(message); m != nil {
		f.Message = m[2]
		line, _ := strconv.Atoi(m[1])
		if n := d.duplicateKey(m[3], line); n != nil && d.source == nil {
			f.Position = d.at(n)
		}
		return f
	}
	if m := decoding.FindStringSubmatch(message); m != nil {
		f.Field, f.Position = m[2], d.field(m[2], is(m[1]))
		return f
	}
	if m := leading.FindStringSubmatch(message); m != nil {
		f.Field, f.Position = m[1], d.field(m[1], nil)
		return f
	}
	switch {
	case deprecation.MatchString(message):
		f.Field, f.Position = "apiVersion", d.field("apiVersion", nil)
	case absent.MatchString(message):
		f.Field, f.Position = "metadata.namespace", d.field("metadata.namespace", nil)
	case unhandled.MatchString(message):
		if path, at := d.misreadField(message); at != nil {
			f.Field, f.Position = path, d.origin().at(at)
		}
	}
	return f
}

// is returns a test for nodes of a type, by the name that Go's JSON decoder has for it.
func is(what string) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		switch what {
		case "object":
			return n.Kind == yaml.MappingNode
		case "array":
			return n.Kind == yaml.SequenceNode
		case "number":
			return n.Tag == "!!int" || n.Tag == "!!float"
		case "bool":
			return n.Tag == "!!bool" || n.Style == 0 && slices.Contains(oldBools, strings.ToLower(n.Value))
		case "string":
			return n.Kind == yaml.ScalarNode && n.Tag == "!!str"
		}
		return true
	}
}

// oldBools are booleans in YAML 1.1, which the API server reads, and strings in the YAML that is parsed here.
var oldBools = []string{"y", "n", "yes", "no", "on", "off"}

// unservedKind returns the finding about a document whose kind the server does not serve, with the likely remedy. It
// also notes the definition as missing, if that is the remedy.
func (c *checker) unservedKind(d *document) Finding {
	kind := d.groupVersionKind()
	message := fmt.Sprintf("no matches for kind %q in version %q", d.Kind, d.APIVersion)
	field := "apiVersion"
	var versions, kinds []string
	custom := !c.client.groups[kind.Group] && kind.Group != "extensions" // its kinds have moved to other groups
	c.client.lock.RLock()
	for k := range c.client.kinds {
		switch {
		case k.Kind == kind.Kind && (k.Group == kind.Group || !custom):
			versions = append(versions, k.GroupVersion().String())
		case k.GroupVersion() == kind.GroupVersion():
			kinds = append(kinds, k.Kind)
		}
	}
	c.client.lock.RUnlock()
	if kind.Group == "kx.dev" {
		kinds = append(kinds, Expectations)
	}
	slices.Sort(versions)
	slices.Sort(kinds)
	switch near := filter.Near(kind.Kind, kinds); {
	case len(versions) > 0:
		message += ": it is served in " + strings.Join(versions, " and ")
	case len(near) > 0:
		field = "kind"
		message += ": did you mean " + strings.Join(near, " or ") + "?"
	case c.definition(kind) != nil:
		message += ": its CustomResourceDefinition is refused: " + c.definition(kind).position.String()
	case custom:
		message += ": add its CustomResourceDefinition to the set"
		c.missing(d.field("kind", nil), fmt.Sprintf("the definition of %s in %s", d.Kind, d.APIVersion))
	}
	return Finding{Level: Refusal, Position: d.field(field, nil), Field: field, Message: message}
}

// definition returns the document of the set that defines a kind, or nil.
func (c *checker) definition(kind schema.GroupVersionKind) *document {
	for _, i := range c.stages[definitions] {
		root := c.documents[i].root
		if scalar(root, "spec", "group") == kind.Group && scalar(root, "spec", "names", "kind") == kind.Kind {
			return c.documents[i]
		}
	}
	return nil
}

// classKinds maps a field that names a class to the kind of the class.
var classKinds = map[string]string{
	"storageClassName": "StorageClass", "ingressClassName": "IngressClass", "priorityClassName": "PriorityClass",
	"runtimeClassName": "RuntimeClass", "gatewayClassName": "GatewayClass", "volumeAttributesClassName": "VolumeAttributesClass",
	"deviceClassName": "DeviceClass",
}

// systemClasses has the values of the priority classes that every cluster has.
var systemClasses = map[string]int{"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}

// missingClasses notes each class that a document names, and that neither the set nor the base has.
func (c *checker) missingClasses() {
	have := map[string]bool{}
	for name := range systemClasses {
		have["PriorityClass "+name] = true
	}
	for _, i := range slices.Concat(c.there[classes], c.stages[classes]) {
		have[c.documents[i].Kind+" "+c.documents[i].Name] = true
	}
	for _, d := range c.documents[c.base:] {
		if d.root == nil || isDefinition(d) || d.group() == "" && (d.Kind == "ConfigMap" || d.Kind == "Secret") {
			continue // their keys are names of any meaning
		}
		visit(d.root, func(n *yaml.Node) {
			if n.Kind != yaml.MappingNode {
				return
			}
			for i := 0; i+1 < len(n.Content); i += 2 {
				key, value := n.Content[i], aliasTarget(n.Content[i+1])
				kind := classKinds[key.Value]
				if kind == "" || value.Kind != yaml.ScalarNode || value.Value == "" || value.Tag == "!!null" ||
					have[kind+" "+value.Value] {
					continue
				}
				have[kind+" "+value.Value] = true // one note for each
				at := d.position
				if d.source == nil {
					at = d.at(key)
				}
				c.missing(at, kind+" "+value.Value)
			}
		})
	}
}

// missing notes something that neither the set nor the base has, once: at the first position, by the name of the file.
func (c *checker) missing(at Position, what string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for i := range c.summary.Missing {
		if note := &c.summary.Missing[i]; note.Text == what {
			if at.compare(note.Position) < 0 {
				note.Position = at
			}
			return
		}
	}
	c.summary.Missing = append(c.summary.Missing, Note{at, what})
}
