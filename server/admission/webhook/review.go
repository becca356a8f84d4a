package webhook

import (
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
)

// reviews returns a review to send, and one to decode the answer into, in the first version that the webhook accepts.
func (c *call) reviews(uid types.UID) (sent, answer runtime.Object, err error) {
	for _, version := range c.hook.GetAdmissionReviewVersions() {
		switch version {
		case admissionv1.SchemeGroupVersion.Version:
			return &admissionv1.AdmissionReview{Request: c.question(uid)}, &admissionv1.AdmissionReview{}, nil
		case admissionv1beta1.SchemeGroupVersion.Version:
			return &admissionv1beta1.AdmissionReview{Request: inBeta(c.question(uid))}, &admissionv1beta1.AdmissionReview{}, nil
		}
	}
	return nil, nil, errors.New("webhook does not accept known AdmissionReview versions (v1, v1beta1)")
}

// question describes the write to the webhook: in the version of its rule, and as it was requested.
func (c *call) question(uid types.UID) *admissionv1.AdmissionRequest {
	a := c.of.Attributes
	return &admissionv1.AdmissionRequest{
		UID:                uid,
		Kind:               metav1.GroupVersionKind(c.kind),
		Resource:           metav1.GroupVersionResource(c.resource),
		SubResource:        a.GetSubresource(),
		RequestKind:        new(metav1.GroupVersionKind(a.GetKind())),
		RequestResource:    new(metav1.GroupVersionResource(a.GetResource())),
		RequestSubResource: a.GetSubresource(),
		Name:               a.GetName(),
		Namespace:          a.GetNamespace(),
		Operation:          admissionv1.Operation(a.GetOperation()),
		UserInfo:           asker(a.GetUserInfo()),
		Object:             runtime.RawExtension{Object: c.of.VersionedObject.Object()},
		OldObject:          runtime.RawExtension{Object: c.of.VersionedOldObject.Object()},
		DryRun:             new(a.IsDryRun()),
		Options:            runtime.RawExtension{Object: a.GetOperationOptions()},
	}
}

func asker(u user.Info) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{
		Username: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: map[string]authenticationv1.ExtraValue{},
	}
	for key, values := range u.GetExtra() {
		info.Extra[key] = values
	}
	return info
}

// inBeta returns a question in v1beta1, which has the same fields.
func inBeta(q *admissionv1.AdmissionRequest) *admissionv1beta1.AdmissionRequest {
	return &admissionv1beta1.AdmissionRequest{
		UID: q.UID, Kind: q.Kind, Resource: q.Resource, SubResource: q.SubResource, RequestKind: q.RequestKind,
		RequestResource: q.RequestResource, RequestSubResource: q.RequestSubResource, Name: q.Name, Namespace: q.Namespace,
		Operation: admissionv1beta1.Operation(q.Operation), UserInfo: q.UserInfo, Object: q.Object, OldObject: q.OldObject,
		DryRun: q.DryRun, Options: q.Options,
	}
}

// answerOf returns the answer in a review, if it is valid for the webhook.
func (c *call) answerOf(review runtime.Object, uid types.UID) (*admissionv1.AdmissionResponse, error) {
	switch r := review.(type) {
	case *admissionv1.AdmissionReview:
		if r.Response == nil {
			return nil, errAbsent
		}
		return r.Response, c.valid(r, uid)
	case *admissionv1beta1.AdmissionReview:
		if r.Response == nil {
			return nil, errAbsent
		}
		return c.fromBeta(r.Response), nil
	}
	return nil, fmt.Errorf("unexpected response type %T", review)
}

var errAbsent = errors.New("webhook response was absent")

// valid checks an answer in v1.
func (c *call) valid(r *admissionv1.AdmissionReview, uid types.UID) error {
	kind, a := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"), r.Response
	switch {
	case a.UID != uid:
		return fmt.Errorf("expected response.uid=%q, got %q", uid, a.UID)
	case r.GroupVersionKind() != kind:
		return fmt.Errorf("expected webhook response of %v, got %v", kind, r.GroupVersionKind())
	case !c.side.mutating && len(a.Patch) > 0:
		return errors.New("validating webhook may not return response.patch")
	case !c.side.mutating && a.PatchType != nil:
		return errors.New("validating webhook may not return response.patchType")
	case len(a.Patch) > 0 && a.PatchType == nil:
		return errors.New("webhook returned response.patch but not response.patchType")
	case len(a.Patch) == 0 && a.PatchType != nil:
		return errors.New("webhook returned response.patchType but not response.patch")
	case a.PatchType != nil && *a.PatchType == "":
		return fmt.Errorf("webhook returned invalid response.patchType of %q", *a.PatchType)
	}
	return nil
}

// fromBeta returns an answer in v1beta1 as one in v1. Its UID and its kind are not checked, the patch of a validating
// webhook is ignored, and the only known type of patches is assumed.
func (c *call) fromBeta(a *admissionv1beta1.AdmissionResponse) *admissionv1.AdmissionResponse {
	answer := &admissionv1.AdmissionResponse{
		UID: a.UID, Allowed: a.Allowed, Result: a.Result, AuditAnnotations: a.AuditAnnotations, Warnings: a.Warnings,
	}
	if c.side.mutating && len(a.Patch) > 0 {
		answer.Patch, answer.PatchType = a.Patch, new(admissionv1.PatchTypeJSONPatch)
	}
	return answer
}
