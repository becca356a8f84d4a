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

// bodyFirst bounds the memory that a client gets for announcing a body, before it sends any.
const bodyFirst = 16 << 10

// readAll reads what r has. A body that was announced and is small takes one piece of memory, any other takes more as it
// comes.
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

// asSent is the version of whatever is decoded.
type asSent struct{}

func (asSent) Identifier() string { return "as sent" }
func (asSent) KindForGroupVersionKinds(kinds []schema.GroupVersionKind) (schema.GroupVersionKind, bool) {
	if len(kinds) == 0 {
		return schema.GroupVersionKind{}, false
	}
	return kinds[0], true
}

// decode makes an object of data, in the version in which it was sent, with that version's defaults. A decoder that does
// more than read is told whose request it is for, so that the request's journey shows what was done.
func (scope *RequestScope) decode(ctx context.Context, s runtime.Decoder, data []byte, expected *schema.GroupVersionKind) (runtime.Object, *schema.GroupVersionKind, error) {
	if d, ok := scope.Serializer.DecoderToVersion(s, asSent{}).(interface {
		Within(ctx context.Context) runtime.Decoder
	}); ok {
		return d.Within(ctx).Decode(data, expected, nil)
	}
	// What DecoderToVersion's would do too, in one go, and nobody would see which value is a default.
	obj, kind, strict := s.Decode(data, expected, nil)
	if strict != nil && (obj == nil || !runtime.IsStrictDecodingError(strict)) {
		return nil, kind, strict
	}
	setDefaults(ctx, scope, obj)
	kinds, _, err := scope.Typer.ObjectKinds(obj)
	if err != nil {
		return nil, kind, err
	}
	obj.GetObjectKind().SetGroupVersionKind(kinds[0]) // the data need not say it
	return obj, kind, strict
}

// setDefaults gives what obj, which has a Go type, does not say the defaults of its version.
func setDefaults(ctx context.Context, scope *RequestScope, obj runtime.Object) {
	_, step := trace.Start(ctx, trace.HandlerDefault, scope.Kind.Kind)
	defer step.End(nil)
	step.Before(obj)
	scope.Defaulter.Default(obj)
	step.After(obj)
}

// decodeBody makes a hub object of a body, with the defaults of the version in which it was sent, which it returns.
// Unknown and duplicate fields are ignored, warned of or refused, as fieldValidation says.
func decodeBody(ctx context.Context, scope *RequestScope, body []byte, s runtime.SerializerInfo, fieldValidation string) (obj runtime.Object, gv schema.GroupVersion, err error) {
	ctx, step := trace.Start(ctx, trace.HandlerDecode, scope.Kind.Kind)
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

// checkKind refuses an object whose Go type can't become the expected one. An object without a Go type is left to its
// resource's validation.
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

// fieldValidation is what a client wants done about unknown and duplicate fields: if it does not say, a warning.
func fieldValidation(directive string) string {
	if directive == "" {
		return metav1.FieldValidationWarn
	}
	return directive
}

// transformDecodeError is the 400 for a body that is not a kind.
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

// answersItself says of an error of a decoder that it has a Status, or is the end of the request: it is not about the data's
// form.
func answersItself(err error) bool {
	var carrier apierrors.APIStatus
	return errors.As(err, &carrier) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// summarizeData is the beginning of a body: as text if it looks like JSON, else in hexadecimal.
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

// The YAML parser puts one of these in front of all that it has to complain about.
var yamlErrorPrefixes = []string{"yaml: unmarshal errors:\n", "error converting YAML to JSON: yaml: unmarshal errors:\n"}

// addStrictDecodingWarnings sends the client a Warning for each field.
func addStrictDecodingWarnings(ctx context.Context, errs []error) {
	for _, err := range errs {
		for _, text := range parseYAMLWarnings(err.Error()) {
			warning.AddWarning(ctx, "", text)
		}
	}
}

// parseYAMLWarnings takes the complaints of the YAML parser apart; any other text stays as it is.
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
