package audit

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/apis/audit/validation"
	"k8s.io/apiserver/pkg/audit"

	"github.com/kx-apiserver/kx/core/escape"
)

// writesOnly is the default policy: the metadata of every write.
func writesOnly() *auditinternal.Policy {
	return &auditinternal.Policy{
		OmitStages: []auditinternal.Stage{auditinternal.StageRequestReceived},
		Rules: []auditinternal.PolicyRule{
			{Level: auditinternal.LevelNone, Verbs: []string{"get", "list", "watch"}},
			{Level: auditinternal.LevelMetadata},
		},
	}
}

// loadPolicy reads the policy in a file, or returns the default one. Errors name the line and the field. A field that no policy has
// is a warning, as upstream: a file that another version reads has to be enough to start.
func loadPolicy(path string, log *slog.Logger) (*auditinternal.Policy, error) {
	if path == "" {
		return writesOnly(), nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--audit-policy-file: %w", err)
	}
	p, warnings, err := parsePolicy(data)
	if err != nil {
		return nil, fmt.Errorf("--audit-policy-file: %s: %w", path, err)
	}
	for _, w := range warnings {
		log.Warn("the audit policy has something that is ignored", "file", path, "error", escape.Line(w.Error()))
	}
	return p, nil
}

// parsePolicy reads a policy. Warnings are about what it ignores.
func parsePolicy(data []byte) (p *auditinternal.Policy, warnings []error, err error) {
	at := linesOf(data)
	if err := at.checkKind(); err != nil {
		return nil, nil, err
	}
	p = &auditinternal.Policy{}
	strict := serializer.NewCodecFactory(audit.Scheme, serializer.EnableStrict).UniversalDecoder()
	_, _, err = strict.Decode(data, nil, p)
	if ignored, ok := runtime.AsStrictDecodingError(err); ok {
		for _, one := range ignored.Errors() {
			warnings = append(warnings, at.named(one.Error(), fieldOfWarning))
		}
		p = &auditinternal.Policy{}
		_, _, err = audit.Codecs.UniversalDecoder().Decode(data, nil, p)
	}
	if err != nil {
		return nil, nil, at.named(err.Error(), fieldOfType)
	}
	var errs []error
	for _, one := range validation.ValidatePolicy(p) {
		errs = append(errs, at.of(one))
	}
	if len(p.Rules) == 0 {
		errs = append(errs, fmt.Errorf("%srules: there is none: write at least one, such as \"- level: Metadata\"", at.line("rules")))
	}
	if len(errs) > 0 {
		return nil, nil, joined(errs)
	}
	return p, warnings, nil
}

// joined makes one sentence of several errors.
func joined(errs []error) error {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return errors.New(strings.Join(texts, "; "))
}

// document is a YAML document, of which one wants to know in which line a field is. It may be nil.
type document struct{ root *yaml.Node }

func linesOf(data []byte) document {
	var file yaml.Node
	switch {
	case yaml.Unmarshal(data, &file) != nil:
		return document{} // the decoder says why
	case len(file.Content) == 0:
		return document{&yaml.Node{Kind: yaml.MappingNode, Line: 1}}
	}
	return document{file.Content[0]}
}

// checkKind says whether the document is something else than a policy.
func (d document) checkKind() error {
	if d.root == nil {
		return nil
	}
	for _, must := range []struct{ field, be string }{{"apiVersion", Version}, {"kind", "Policy"}} {
		node := child(d.root, must.field)
		switch {
		case node == nil:
			return fmt.Errorf("%s: it is missing: write %s: %s", must.field, must.field, must.be)
		case node.Value != must.be:
			return fmt.Errorf("%s%s: %q must be %q", d.line(must.field), must.field, node.Value, must.be)
		}
	}
	return nil
}

// fieldOfWarning and fieldOfType find the field in messages of decoders.
var (
	fieldOfWarning = regexp.MustCompile(`field "([^"]+)"`)
	fieldOfType    = regexp.MustCompile(`into Go struct field [^.\s]+\.(\S+) of type`)
)

// named adds the line of the field that a message names.
func (d document) named(message string, by *regexp.Regexp) error {
	message = strings.Join(strings.Fields(message), " ")
	if found := by.FindStringSubmatch(message); found != nil {
		return fmt.Errorf("%s%s: %s", d.line(found[1]), found[1], message)
	}
	return errors.New(message)
}

// of adds the line to an error of a field.
func (d document) of(err *field.Error) error {
	return fmt.Errorf("%s%w", d.line(err.Field), err)
}

// line returns the line of a field for a message, such as "line 7: ". Of a field that is missing it is the one of what it is missing in.
func (d document) line(path string) string {
	if d.root == nil {
		return ""
	}
	at := d.root
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := child(at, part)
		if next == nil {
			break
		}
		at = next
	}
	return fmt.Sprintf("line %d: ", at.Line)
}

// child returns the field or the item of a node, nil if there is none.
func child(of *yaml.Node, name string) *yaml.Node {
	if of.Kind == yaml.AliasNode {
		of = of.Alias
	}
	switch of.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(of.Content); i += 2 {
			if of.Content[i].Value == name {
				return of.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(of.Content) {
			return of.Content[i]
		}
	}
	return nil
}
