package handler

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// limitedReadBody reads a request's body, unless it is larger than limit.
func limitedReadBody(req *http.Request, limit int64) ([]byte, error) {
	if limit <= 0 {
		return readBody(req, req.Body)
	}
	tooLarge := apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", limit))
	if req.ContentLength > limit {
		return nil, tooLarge
	}
	data, err := readBody(req, io.LimitReader(req.Body, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, tooLarge
	}
	return data, err
}

func readBody(req *http.Request, r io.Reader) ([]byte, error) {
	data, err := readAll(r, req.ContentLength)
	if err == nil {
		return data, nil
	}
	var carrier apierrors.APIStatus
	switch {
	case errors.As(err, &carrier):
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, requestTimedOut(context.DeadlineExceeded)
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf("unable to read the request body: %v", err))
}

// bodyFirst limits the memory that is allocated for an announced body before any of it arrives.
const bodyFirst = 16 << 10

// readAll reads r to the end. A small body of announced length takes one allocation; any other body takes more memory
// as it arrives.
func readAll(r io.Reader, announced int64) ([]byte, error) {
	size := int64(bodyFirst)
	if announced >= 0 {
		size = min(size, announced+1) // one more, to see the end
	}
	first := make([]byte, 0, size)
	for len(first) < cap(first) {
		n, err := r.Read(first[len(first):cap(first)])
		first = first[:len(first)+n]
		if err == io.EOF {
			return first, nil
		}
		if err != nil {
			return nil, err
		}
	}
	rest, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return slices.Concat(first, rest), nil
}

// asSent is a runtime.GroupVersioner that keeps the version of the decoded object.
type asSent struct{}

func (asSent) Identifier() string { return "as sent" }
func (asSent) KindForGroupVersionKinds(kinds []schema.GroupVersionKind) (schema.GroupVersionKind, bool) {
	if len(kinds) == 0 {
		return schema.GroupVersionKind{}, false
	}
	return kinds[0], true
}

// decode decodes data in the version in which it was sent, and sets that version's defaults. A decoder that also does
// other work gets the context, so that the request's journey shows that work.
func (scope *RequestScope) decode(ctx context.Context, s runtime.Decoder, data []byte,
	expected *schema.GroupVersionKind) (runtime.Object, *schema.GroupVersionKind, error) {
	if d, ok := scope.Serializer.DecoderToVersion(s, asSent{}).(interface {
		WithContext(ctx context.Context) runtime.Decoder
	}); ok {
		return d.WithContext(ctx).Decode(data, expected, nil)
	}
	// DecoderToVersion's decoder would do the same in one call, but then the journey could not show which values are
	// defaults.
	obj, kind, strict := s.Decode(data, expected, nil)
	if strict != nil && (obj == nil || !runtime.IsStrictDecodingError(strict)) {
		return nil, kind, strict
	}
	setDefaults(ctx, scope, obj)
	kinds, _, err := scope.Typer.ObjectKinds(obj)
	if err != nil {
		return nil, kind, err
	}
	obj.GetObjectKind().SetGroupVersionKind(kinds[0]) // the data may omit it
	return obj, kind, strict
}

// setDefaults sets the defaults of obj's version in the fields that it omits. obj has a Go type.
func setDefaults(ctx context.Context, scope *RequestScope, obj runtime.Object) {
	_, step := trace.Start(ctx, steps.HandlerDefault, scope.Kind.Kind)
	defer step.End(nil)
	step.Before(obj)
	scope.Defaulter.Default(obj)
	step.After(obj)
}

// decodeBody decodes a body into a hub object, with the defaults of the version in which it was sent. It also returns
// that version. fieldValidation decides whether it ignores, warns of or refuses unknown and duplicate fields.
func decodeBody(ctx context.Context, scope *RequestScope, body []byte, s runtime.SerializerInfo,
	fieldValidation string) (obj runtime.Object, gv schema.GroupVersion, err error) {
	ctx, step := trace.Start(ctx, steps.HandlerDecode, scope.Kind.Kind)
	defer step.End(&err)
	if step.Recording() {
		step.Int("bytes", int64(len(body)))
		step.Text("mediaType", s.MediaType)
	}
	serializer := s.StrictSerializer
	if fieldValidation == metav1.FieldValidationIgnore {
		serializer = s.Serializer
	}
	expected := scope.Kind
	obj, gvk, err := scope.decode(ctx, serializer, body, &expected)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil && fieldValidation == metav1.FieldValidationWarn {
		addStrictDecodingWarnings(ctx, strict.Errors())
		err = nil
	}
	if err == nil {
		err = checkKind(scope, obj, gvk)
	}
	if err != nil {
		return nil, gv, transformDecodeError(err, scope.Kind.Kind, gvk, body)
	}
	gv = gvk.GroupVersion()
	if !scope.AcceptsGroupVersion(gv) {
		return nil, gv, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)",
			gv, scope.Kind.GroupVersion()))
	}
	step.After(obj)
	if obj, err = toHub(ctx, scope, obj, gv); err != nil {
		return nil, gv, transformDecodeError(err, scope.Kind.Kind, gvk, body)
	}
	return obj, gv, nil
}

// checkKind refuses an object whose Go type can't become the expected one. The resource's validation checks an object
// without a Go type.
func checkKind(scope *RequestScope, obj runtime.Object, sent *schema.GroupVersionKind) error {
	if _, ok := obj.(runtime.Unstructured); ok || sent.Kind == scope.Kind.Kind {
		return nil
	}
	expected, err := scope.Creater.New(scope.Kind)
	if err != nil {
		return err
	}
	return fmt.Errorf("converting (%s) to (%s): unknown conversion", goType(obj), goType(expected))
}

func goType(obj runtime.Object) string { return strings.TrimPrefix(fmt.Sprintf("%T", obj), "*") }

// fieldValidation returns how to treat unknown and duplicate fields. The default is to warn.
func fieldValidation(directive string) string {
	if directive == "" {
		return metav1.FieldValidationWarn
	}
	return directive
}

// transformDecodeError returns the 400 for a body that can't be decoded as a kind.
func transformDecodeError(err error, kind string, sent *schema.GroupVersionKind, body []byte) error {
	if answersItself(err) {
		return err
	}
	if sent != nil && sent.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", sent.Kind, sent.Version, kind, err))
	}
	text := fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v", kind, err)
	return mask.ForClient(apierrors.NewBadRequest(fmt.Sprintf("%s (%s)", text, summarizeData(body, 30))), text)
}

// answersItself reports whether a decoder's error is not about the data: it has a Status of its own, or the request has
// ended.
func answersItself(err error) bool {
	var carrier apierrors.APIStatus
	return errors.As(err, &carrier) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// summarizeData returns the beginning of a body: as text if it looks like JSON, else in hexadecimal.
func summarizeData(data []byte, maxBytes int) string {
	if len(data) == 0 {
		return "<empty>"
	}
	text, more := func(b []byte) string { return hex.EncodeToString(b) }, ""
	if data[0] == '{' {
		text = func(b []byte) string { return string(b) }
	}
	if len(data) > maxBytes {
		data, more = data[:maxBytes], " ..."
	}
	return text(data) + more
}

// yamlErrorPrefixes are the prefixes of the YAML parser's lists of errors.
var yamlErrorPrefixes = []string{"yaml: unmarshal errors:\n", "error converting YAML to JSON: yaml: unmarshal errors:\n"}

// addStrictDecodingWarnings sends the client a Warning for each field.
func addStrictDecodingWarnings(ctx context.Context, errs []error) {
	for _, err := range errs {
		for _, text := range parseYAMLWarnings(err.Error()) {
			warning.AddWarning(ctx, "", text)
		}
	}
}

// parseYAMLWarnings splits such a list into its errors. It returns any other text as it is.
func parseYAMLWarnings(text string) []string {
	for _, prefix := range yamlErrorPrefixes {
		list, ok := strings.CutPrefix(text, prefix)
		if !ok {
			continue
		}
		lines := strings.Split(list, "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		return lines
	}
	return []string{text}
}
