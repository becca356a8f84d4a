package crd

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
)

// forbidCreateAdmission refuses every create, also those within an update or an apply. Its delegate, which may
// be nil, decides the rest.
type forbidCreateAdmission struct{ delegate admission.Interface }

var (
	_ admission.MutationInterface   = forbidCreateAdmission{}
	_ admission.ValidationInterface = forbidCreateAdmission{}
)

func (f forbidCreateAdmission) Handles(operation admission.Operation) bool {
	return operation == admission.Create || f.delegate != nil && f.delegate.Handles(operation)
}

func (f forbidCreateAdmission) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if a.GetOperation() == admission.Create {
		return createForbidden(a)
	}
	if delegate, ok := f.delegate.(admission.MutationInterface); ok {
		return delegate.Admit(ctx, a, o)
	}
	return nil
}

func (f forbidCreateAdmission) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if a.GetOperation() == admission.Create {
		return createForbidden(a)
	}
	if delegate, ok := f.delegate.(admission.ValidationInterface); ok {
		return delegate.Validate(ctx, a, o)
	}
	return nil
}

func createForbidden(a admission.Attributes) error {
	return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(),
		errors.New("create not allowed while custom resource definition is terminating"))
}
