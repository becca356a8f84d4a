package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	registrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/kx-apiserver/kx/cmd/kx/internal/trial"
	"github.com/kx-apiserver/kx/server/admission/policy"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Policies writes the effects of policies on objects: a paragraph for each object, or one document.
type Policies struct {
	out      io.Writer
	colored  bool
	sections *sections // nil for text
}

// NewPolicies begins the output; Summary ends it.
func NewPolicies(out io.Writer, format Format, colored bool) *Policies {
	p := &Policies{out: out, colored: colored}
	if format != Text {
		p.sections = newSections(out, format)
	}
	return p
}

// did maps the actions of bindings after a failed validation to words.
var did = map[registrationv1.ValidationAction]string{
	registrationv1.Deny: "denies", registrationv1.Warn: "warns", registrationv1.Audit: "tells the audit log",
}

// Object writes the effects on an object.
func (p *Policies) Object(o *trial.Object) error {
	if p.sections != nil {
		return p.sections.row("objects", o)
	}
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	var outcome []string
	for _, is := range []struct {
		yes  bool
		word string
	}{
		{o.Operation == "", "no policy is about it"}, {o.Refusal != "", "refused"}, {o.After != nil, "changed"},
		{len(o.Warnings) > 0, "warned of"},
	} {
		if is.yes {
			outcome = append(outcome, is.word)
		}
	}
	if len(outcome) == 0 {
		outcome = []string{"let in"}
	}
	p.line("%s %s: %s", o.Resource, name, strings.Join(outcome, ", "))
	denied := false
	for i := range o.Failures {
		f := &o.Failures[i]
		var actions []string
		for _, action := range f.Actions {
			actions = append(actions, did[action])
			denied = denied || action == registrationv1.Deny
		}
		p.line("  %s of %s %s: %s", f.Field, policyName(f), strings.Join(actions, " and "), f.Message)
	}
	if o.Refusal != "" && !denied {
		p.line("  %s", o.Refusal)
	}
	for _, text := range o.Warnings {
		if !ofFailure(o, text) {
			p.line("  warning: %s", text)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.Annotations)) {
		if !strings.HasSuffix(key, "/validation_failure") { // the failures contain the same
			p.line("  audit annotation %s: %s", key, o.Annotations[key])
		}
	}
	if o.After == nil {
		return nil
	}
	return writeDiff(p.out, o.Before, o.After, p.colored)
}

// policyName names a policy, and its binding if that has another name.
func policyName(f *policy.Failure) string {
	if f.Binding == f.Policy {
		return f.Policy
	}
	return f.Policy + " bound by " + f.Binding
}

// ofFailure reports whether a failure contains the same text as a warning.
func ofFailure(o *trial.Object, warning string) bool {
	for i := range o.Failures {
		if strings.HasSuffix(warning, o.Failures[i].Message) {
			return true
		}
	}
	return false
}

func (p *Policies) line(format string, args ...any) {
	fmt.Fprintln(p.out, draw.Clean(fmt.Sprintf(format, args...)))
}

// Summary ends the output.
func (p *Policies) Summary(s *trial.Summary) error {
	if p.sections == nil {
		p.line("objects: %s; that a policy is about: %s; refused: %s; warned of: %s; told to the audit log: %s; changed: %s",
			Count(s.Objects), Count(s.Matched), Count(s.Refused), Count(s.Warned), Count(s.Audited), Count(s.Changed))
		return nil
	}
	if err := p.sections.endRows("objects"); err != nil {
		return err
	}
	if err := p.sections.Value("summary", s); err != nil {
		return err
	}
	return p.sections.Close()
}
