package schema

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// walk validates one object by an OpenAPI schema. It finds the same errors as the library's validator. Unlike
// that one, it ends with its context or after a number of steps, keeps a limited number of errors, and drops
// its patterns with their schema. One goroutine uses it.
type walk struct {
	ctx context.Context
	// left counts the remaining steps.
	left int64
	// err is the cause of an early end.
	err error
}

const (
	// stepsBetweenLooks is the number of steps between two checks of the context.
	stepsBetweenLooks = 1 << 10
	// patternWorkAStep instructions of a pattern's program count as one step, and so do enumWorkAStep values of
	// an enum, and formatBytesAStep bytes of a text with a format.
	patternWorkAStep = 200
	enumWorkAStep    = 16
	formatBytesAStep = 64
)

// take takes n steps, and reports whether the walk goes on.
func (w *walk) take(n int64) bool {
	before := w.left
	w.left -= n
	switch {
	case w.err != nil:
	case w.left < 0:
		w.err = errTooManySteps
	case before/stepsBetweenLooks != w.left/stepsBetweenLooks:
		w.err = w.ctx.Err()
	}
	return w.err == nil
}

// location is the place of a value in its object: a name or an index within its parent. The object itself is nil.
type location struct {
	parent *location
	name   string
	index  int // for those without a name
	isItem bool
	// isKey means that the name is no property's.
	isKey bool
}

// String returns the path in the form of errors. A key in a map at the top begins with a dot, a property does
// not.
func (a *location) String() string {
	var b strings.Builder
	a.write(&b)
	return b.String()
}

func (a *location) write(b *strings.Builder) {
	switch {
	case a == nil:
	case a.isItem:
		a.parent.write(b)
		b.WriteByte('[')
		b.WriteString(strconv.Itoa(a.index))
		b.WriteByte(']')
	default:
		a.parent.write(b)
		if a.parent != nil || a.isKey {
			b.WriteByte('.')
		}
		b.WriteString(a.name)
	}
}

// findings holds the findings of a walk in a value.
type findings struct {
	errs []error
	// texts holds the texts of errs, so that the same error is not added twice.
	texts []string
	more  bool
	// matched counts the checks that held. If all branches fail, the errors come from the branch with the
	// highest count.
	matched int
}

func (v *findings) add(err error) {
	if err == nil {
		return
	}
	if len(v.errs) == maxErrors {
		v.more = true
		return
	}
	text := err.Error()
	for _, known := range v.texts {
		if known == text {
			return
		}
	}
	v.errs, v.texts = append(v.errs, err), append(v.texts, text)
}

func (v *findings) merge(other findings) {
	for _, err := range other.errs {
		v.add(err)
	}
	v.more = v.more || other.more
	v.matched += other.matched
}

// addOf is add for functions of the library, whose nil pointer would become a non-nil error.
func (v *findings) addOf(err *errors.Validation) {
	if err != nil {
		v.add(err)
	}
}

const inBody = "body"

// value validates a value. related, if not nil, relates it to its old value: errors of unchanged values are
// dropped.
func (w *walk) value(n *node, p *location, value any, related *common.CorrelatedObject) findings {
	out := w.check(n, p, value, related)
	if len(out.errs) > 0 && related != nil && related.CachedDeepEqual() {
		return findings{matched: out.matched}
	}
	return out
}

func (w *walk) check(n *node, p *location, value any, related *common.CorrelatedObject) (out findings) {
	if !w.take(1 + int64(len(n.Enum)/enumWorkAStep)) {
		return out
	}
	if value == nil {
		out.merge(checkType(n, p, nil))
		w.enum(n, p, nil, &out)
		return out
	}
	if len(n.Type) > 0 || n.Format != "" {
		out.merge(checkType(n, p, value))
		out.matched++
	}
	out.merge(w.branches(n, p, value))
	out.matched++
	switch value := value.(type) {
	case string:
		w.text(n, p, value, &out)
	case []any:
		w.list(n, p, value, related, &out)
	case int64, float64:
		out.merge(number(n, p, value))
		out.matched++
	}
	w.enum(n, p, value, &out)
	out.matched++
	if m, ok := value.(map[string]any); ok {
		w.object(n, p, m, related, &out)
		out.matched++
	}
	out.matched++
	return out
}

func (w *walk) text(n *node, p *location, value string, out *findings) {
	switch {
	case n.MaxLength != nil && int64(utf8.RuneCountInString(value)) > *n.MaxLength:
		out.add(errors.TooLong(p.String(), inBody, *n.MaxLength, value))
	case n.MinLength != nil && int64(utf8.RuneCountInString(value)) < *n.MinLength:
		out.add(errors.TooShort(p.String(), inBody, *n.MinLength, value))
	case n.pattern != nil:
		w.match(n, p, value, out)
	}
	out.matched++
	if n.hasFormat && w.take(int64(len(value)/formatBytesAStep)) {
		if !strfmt.Default.Validates(n.Format, value) {
			out.add(errors.InvalidType(p.String(), inBody, n.Format, value))
		}
		out.matched++
	}
}

// match matches a text with a pattern. The cost is proportional to the length of both.
func (w *walk) match(n *node, p *location, value string, out *findings) {
	re := n.pattern.compile()
	switch {
	case re.err != nil:
		out.add(errors.FailedPattern(p.String(), inBody, fmt.Sprintf("%s, but pattern is invalid: %s", n.pattern.text, re.err), value))
	case !w.take(int64(len(value)) * int64(re.size) / patternWorkAStep):
	case !re.MatchString(value):
		out.add(errors.FailedPattern(p.String(), inBody, n.pattern.text, value))
	}
}

func (w *walk) list(n *node, p *location, items []any, related *common.CorrelatedObject, out *findings) {
	if n.items != nil {
		for i, item := range items {
			if w.err != nil {
				return
			}
			var itemRelated *common.CorrelatedObject
			if related != nil {
				itemRelated = related.Index(i)
			}
			out.merge(w.value(n.items, &location{parent: p, index: i, isItem: true}, item, itemRelated))
		}
	}
	size := int64(len(items))
	if n.MinItems != nil && size < *n.MinItems {
		out.add(errors.TooFewItems(p.String(), inBody, *n.MinItems, size))
	}
	if n.MaxItems != nil && size > *n.MaxItems {
		out.add(errors.TooManyItems(p.String(), inBody, *n.MaxItems, size))
	}
	if n.UniqueItems && w.take(size*size) {
		out.addOf(validate.UniqueItems(p.String(), inBody, items))
	}
	out.matched += 2
}

func (w *walk) object(n *node, p *location, fields map[string]any, related *common.CorrelatedObject, out *findings) {
	size := int64(len(fields))
	if n.MinProperties != nil && size < *n.MinProperties {
		out.add(errors.TooFewProperties(p.String(), inBody, *n.MinProperties, size))
	}
	if n.MaxProperties != nil && size > *n.MaxProperties {
		out.add(errors.TooManyProperties(p.String(), inBody, *n.MaxProperties, size))
	}
	if n.AdditionalProperties != nil && (!n.AdditionalProperties.Allows || n.additional != nil) {
		w.additional(n, p, fields, related, out)
	}
	for i := range n.properties {
		prop := &n.properties[i]
		if value, ok := fields[prop.name]; ok {
			out.merge(w.value(prop.node, &location{parent: p, name: prop.name}, value, relatedField(p, prop.name, related)))
		}
	}
	for _, name := range n.Required {
		if _, ok := fields[name]; !ok {
			out.add(errors.Required(p.String()+"."+name, inBody))
		}
	}
}

// additional validates the fields that are no properties.
func (w *walk) additional(n *node, p *location, fields map[string]any, related *common.CorrelatedObject, out *findings) {
	for name, value := range fields {
		if _, ok := n.Properties[name]; ok {
			continue
		}
		if w.err != nil {
			return
		}
		if !n.AdditionalProperties.Allows {
			out.add(errors.PropertyNotAllowed(p.String(), inBody, name))
			continue
		}
		out.merge(w.value(n.additional, &location{parent: p, name: name, isKey: true}, value, relatedField(p, name, related)))
	}
}

// relatedField relates a field to its old value. The apiVersion and the kind at the top have none: old and new
// were both converted to this version, which hides whether they changed.
func relatedField(p *location, name string, related *common.CorrelatedObject) *common.CorrelatedObject {
	if related == nil || p == nil && (name == "apiVersion" || name == "kind") {
		return nil
	}
	return related.Key(name)
}
