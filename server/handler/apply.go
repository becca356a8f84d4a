package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// Server-side apply: a client sends exactly the fields that it wants to own. Fields that it sent before and now omits
// are removed. Fields of other owners it changes only by force. If the object does not exist, it is created.

// applyConfiguration returns the next state of current, both in the hub version. current is empty if the object does
// not exist.
func (p *patcher) applyConfiguration(ctx context.Context, current runtime.Object) (applied runtime.Object, err error) {
	force := p.options.Force != nil && *p.options.Force
	ctx, step := trace.Start(ctx, steps.HandlerApply, p.manager)
	defer step.End(&err)
	step.Int("bytes", int64(len(p.patch)))
	if force {
		step.Text("force", "true")
	}
	step.Before(current)
	configuration, strictErr, err := decodeConfiguration(p.patch, p.checksFields())
	if err != nil {
		return nil, err
	}
	if err := p.scope.checkFields(nil, configuration); err != nil {
		return nil, err
	}
	if err := p.scope.checkApply(current, configuration); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, requestTimedOut(err)
	}
	applied, err = applyOwners(p.scope, current, configuration, p.manager, force)
	forgetKind(current)
	if err != nil {
		if step.Recording() && !step.Confidential() {
			sayConflicts(step, err)
		}
		return nil, applyError(err)
	}
	forgetKind(applied)
	if err := ctx.Err(); err != nil {
		return nil, requestTimedOut(err)
	}
	if err := p.checkApplied(ctx, current, applied); err != nil {
		return nil, err
	}
	if strictErr != nil {
		if p.fieldValidation == metav1.FieldValidationStrict {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", strictErr))
		}
		addStrictDecodingWarnings(ctx, []error{strictErr})
	}
	step.After(applied)
	if step.Recording() && !step.Confidential() {
		sayOwners(step, current, applied, managerKey{p.manager, metav1.ManagedFieldsOperationApply, p.scope.Subresource})
	}
	return applied, nil
}

// checkApplied refuses an object that the apply has made too large. It also returns the error of defaults that do
// not fit: the field manager sets them through an interface that can't return one.
func (p *patcher) checkApplied(ctx context.Context, current, applied runtime.Object) error {
	if d, ok := p.scope.Defaulter.(interface {
		Complete(ctx context.Context, obj runtime.Object) error
	}); ok {
		if err := d.Complete(ctx, applied); err != nil {
			return err
		}
	}
	return p.scope.checkFields(current, applied)
}

// decodeConfiguration decodes the fields that a client applies. If strict, strictErr names the fields that occur twice.
func decodeConfiguration(body []byte, strict bool) (_ *unstructured.Unstructured, strictErr, err error) {
	fields, ok := decodePlainJSON(body)
	if !ok {
		if err := yaml.Unmarshal(body, &fields); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		if strict {
			strictErr = yaml.UnmarshalStrict(body, &map[string]any{})
		}
	}
	if fields == nil {
		fields = map[string]any{}
	}
	return &unstructured.Unstructured{Object: fields}, strictErr, nil
}

// decodePlainJSON decodes a JSON object without duplicate fields much faster than the YAML parser does. All programs
// send that. Any other body goes to the YAML parser, whose error messages clients expect.
func decodePlainJSON(body []byte) (map[string]any, bool) {
	if !bytes.HasPrefix(body, []byte("{")) {
		return nil, false
	}
	fields := map[string]any{}
	strictErrs, err := kjson.UnmarshalStrict(body, &fields)
	if err != nil || len(strictErrs) > 0 {
		return nil, false
	}
	return fields, true
}

// configurationAsJSON converts the body for the audit log, and refuses invalid YAML.
func configurationAsJSON(body []byte) ([]byte, error) {
	if bytes.HasPrefix(body, []byte("{")) && json.Valid(body) {
		return body, nil
	}
	asJSON, err := yaml.ToJSON(body)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
	}
	return asJSON, nil
}

const (
	// maxCauses limits the conflicts that a response names.
	maxCauses = 100
	// maxMessage limits the length of a message about fields.
	maxMessage = 64 << 10
)

func applyOwners(scope *RequestScope, current, configuration runtime.Object, manager string,
	force bool) (applied runtime.Object, err error) {
	defer refuseUndecodable(&err)
	return scope.FieldManager.Apply(current, configuration, manager, force)
}

// applyError returns the error that tells the client what violates the schema, values included. The trace and the log
// only record that there is a violation. The message is limited, because an apply may conflict in every field of an
// object.
func applyError(err error) error {
	var carrier apierrors.APIStatus
	if errors.As(err, &carrier) {
		return boundedConflict(err, carrier.Status())
	}
	message := err.Error()
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + " …"
	}
	return patchError(&apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonUnknown, Message: message,
	}}, "it does not fit the schema")
}

// boundedConflict keeps the first maxCauses conflicts of an error and counts the others.
func boundedConflict(err error, status metav1.Status) error {
	if status.Details == nil || len(status.Details.Causes) <= maxCauses {
		return err
	}
	causes := status.Details.Causes
	details := *status.Details
	details.Causes = append(slices.Clip(causes[:maxCauses]), metav1.StatusCause{
		Type: metav1.CauseTypeFieldManagerConflict, Message: fmt.Sprintf("%d more conflicts are not shown", len(causes)-maxCauses),
	})
	named := make([]string, maxCauses)
	for i, cause := range causes[:maxCauses] {
		named[i] = fmt.Sprintf("- %s: %s", cause.Field, cause.Message)
	}
	status.Details = &details
	status.Message = fmt.Sprintf("Apply failed with %d conflicts, of which these are the first %d:\n%s", len(causes), maxCauses,
		strings.Join(named, "\n"))
	return &apierrors.StatusError{ErrStatus: status}
}
