package endpoint_test

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// plugin labels what is created and updated with the operation, doubles the owners of objects that ask for it, and lets
// nothing be called "unwanted" or go that is called "wanted".
type plugin struct{}

func (*plugin) Handles(admission.Operation) bool { return true }

func (*plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetOperation() == admission.Delete || a.GetSubresource() != "" {
		return nil
	}
	m, err := meta.Accessor(a.GetObject())
	if err != nil {
		return err
	}
	labels := m.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["admitted"] = string(a.GetOperation())
	m.SetLabels(labels)
	if m.GetAnnotations()["double-owners"] != "" {
		m.SetOwnerReferences(append(m.GetOwnerReferences(), m.GetOwnerReferences()...))
	}
	return nil
}

func (*plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	switch {
	case a.GetOperation() == admission.Delete && a.GetName() == "wanted":
		return admission.NewForbidden(a, errors.New("it is wanted"))
	case a.GetName() == "unwanted":
		return admission.NewForbidden(a, errors.New("it is unwanted"))
	}
	return nil
}

// onlyAnn lets ann do everything, but not to secrets or to what is called "private".
type onlyAnn struct{}

func (onlyAnn) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetUser().GetName() != "ann" || a.GetResource() == "secrets" || a.GetName() == "private" {
		return authorizer.DecisionNoOpinion, "it is not hers", nil
	}
	return authorizer.DecisionAllow, "", nil
}
