package control

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
)

// Kind is the type of a rule.
type Kind string

// The kinds, named like their resources.
const (
	Breakpoint Kind = "breakpoints"
	Fault      Kind = "faults"
)

// Key identifies a rule.
type Key struct {
	Kind Kind
	Name string
}

func (k Key) path() string { return k.collection() + "/" + k.Name }

func (k Key) collection() string { return api.KX + "/" + string(k.Kind) }

// String returns the server's name for the rule in holds and interventions.
func (k Key) String() string {
	return fmt.Sprintf("%s %q", strings.TrimSuffix(string(k.Kind), "s"), k.Name)
}

// compareKeys sorts breakpoints before faults, and b2 before b10.
func compareKeys(a, b Key) int {
	textA, numberA := splitName(a.Name)
	textB, numberB := splitName(b.Name)
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(textA, textB), cmp.Compare(numberA, numberB), cmp.Compare(a.Name, b.Name))
}

// splitName splits a name before the number at its end.
func splitName(name string) (text string, number int) {
	text = strings.TrimRight(name, "0123456789")
	number, _ = strconv.Atoi(name[len(text):])
	return text, number
}

// Spec is the definition of a rule: one of the two fields is set.
type Spec struct {
	Breakpoint *v1alpha1.BreakpointSpec `json:"breakpoint,omitempty"`
	Fault      *v1alpha1.FaultSpec      `json:"fault,omitempty"`
}

// sort returns the kind of the definition.
func (s Spec) sort() Kind {
	if s.Fault != nil {
		return Fault
	}
	return Breakpoint
}

// Filter returns the filter for the steps of the rule.
func (s Spec) Filter() string {
	if s.Fault != nil {
		return s.Fault.Filter
	}
	if s.Breakpoint != nil {
		return s.Breakpoint.Filter
	}
	return ""
}

// Summary describes the effect of the rule in a word or two.
func (s Spec) Summary() string {
	switch {
	case s.Breakpoint != nil && s.Breakpoint.Action == v1alpha1.BreakpointTrace:
		return "trace"
	case s.Breakpoint != nil:
		return "hold"
	case s.Fault == nil:
		return ""
	}
	text := string(s.Fault.Effect)
	if s.Fault.Code != 0 {
		text += fmt.Sprintf(" %d", s.Fault.Code)
	}
	if s.Fault.Outage != "" {
		text += " " + string(s.Fault.Outage)
	}
	if s.Fault.Delay != nil {
		text += " " + s.Fault.Delay.Duration.String()
	}
	return text
}

// Edge returns the end of a step at which the rule acts.
func (s Spec) Edge() v1alpha1.StepEdge {
	switch {
	case s.Breakpoint != nil && s.Breakpoint.At != "":
		return s.Breakpoint.At
	case s.Fault != nil && s.Fault.At != "":
		return s.Fault.At
	}
	return v1alpha1.AtStart
}

// Counts returns the number of matches to skip, and the limit of hits.
func (s Spec) Counts() (skip, count int64) {
	if s.Fault != nil {
		return s.Fault.Skip, s.Fault.Count
	}
	if s.Breakpoint != nil {
		return s.Breakpoint.Skip, s.Breakpoint.Count
	}
	return 0, 0
}

// Rule is a breakpoint or a fault.
type Rule struct {
	Key
	Spec
	// On reports that the server has the rule.
	On bool
	// Mine reports that the user made the rule here; Sent, that the screen Send made it to hold one request.
	Mine   bool
	Sent   bool
	Status v1alpha1.RuleStatus
	// Note is the reason why the rule is off although the user did not switch it off.
	Note string
}

// ownRule is a rule of the user.
type ownRule struct {
	spec Spec
	on   bool
	// wanted reports that the rule is to be switched on as soon as the server is there.
	wanted bool
	uid    types.UID
	made   uint64
	note   string
	status v1alpha1.RuleStatus // the last that is known
}

func (o *ownRule) rule(key Key) Rule {
	return Rule{Key: key, Spec: o.spec, On: o.on, Mine: true, Status: o.status, Note: o.note}
}

// leaseSeconds is the lifetime of a breakpoint without a watch: this program renews it sooner.
const leaseSeconds = 30

// object returns the object for the server.
func (s Spec) object(name string) any {
	meta := metav1.ObjectMeta{Name: name}
	if s.Fault != nil {
		return &v1alpha1.Fault{TypeMeta: typeMeta("Fault"), ObjectMeta: meta, Spec: *s.Fault}
	}
	spec := *s.Breakpoint
	return &v1alpha1.Breakpoint{TypeMeta: typeMeta("Breakpoint"), ObjectMeta: meta, Spec: spec}
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind}
}

// YAML returns rules as manifests for kubectl apply.
func YAML(rules []Rule) ([]byte, error) {
	var out []byte
	for _, r := range rules {
		data, err := json.Marshal(r.Spec.object(r.Name))
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", r.Key, err)
		}
		var fields map[string]any
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, fmt.Errorf("write %s: %w", r.Key, err)
		}
		delete(fields, "status")
		delete(fields["metadata"].(map[string]any), "creationTimestamp")
		data, err = yaml.Marshal(fields)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", r.Key, err)
		}
		if len(out) > 0 {
			out = append(out, "---\n"...)
		}
		out = append(out, data...)
	}
	return out, nil
}

// Parse reads a rule that was edited as YAML.
func Parse(data []byte) (Rule, error) {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(data, &kind); err != nil {
		return Rule{}, fmt.Errorf("read the rule: %w", err)
	}
	var r Rule
	switch kind.Kind {
	case "Breakpoint":
		var b v1alpha1.Breakpoint
		if err := yaml.UnmarshalStrict(data, &b); err != nil {
			return r, fmt.Errorf("read the breakpoint: %w", err)
		}
		r.Key, r.Spec = Key{Breakpoint, b.Name}, Spec{Breakpoint: &b.Spec}
	case "Fault":
		var f v1alpha1.Fault
		if err := yaml.UnmarshalStrict(data, &f); err != nil {
			return r, fmt.Errorf("read the fault: %w", err)
		}
		r.Key, r.Spec = Key{Fault, f.Name}, Spec{Fault: &f.Spec}
	default:
		return r, fmt.Errorf("read the rule: its kind is %q, and must be Breakpoint or Fault", kind.Kind)
	}
	return r, nil
}
