package handler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/warning"
)

const (
	duplicateOwnersFormat = ".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, " +
		"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %s"
	afterAdmission = " after mutating admission happens"
)

// dedupOwnerReferencesAndAddWarning leaves each owner in obj once, and warns the client if that took something away.
func dedupOwnerReferencesAndAddWarning(ctx context.Context, obj runtime.Object, afterMutatingAdmission bool) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	refs, duplicates := dedupOwnerReferences(m.GetOwnerReferences())
	if len(duplicates) == 0 {
		return
	}
	m.SetOwnerReferences(refs)
	when := ""
	if afterMutatingAdmission {
		when = afterAdmission
	}
	warning.AddWarning(ctx, "", fmt.Sprintf(duplicateOwnersFormat, when, strings.Join(duplicates, ", ")))
}

// dedupOwnerReferences drops references that are equal to an earlier one, and returns the UIDs of those dropped.
func dedupOwnerReferences(refs []metav1.OwnerReference) (kept []metav1.OwnerReference, duplicates []string) {
	if len(refs) < 2 {
		return refs, nil
	}
	for _, ref := range refs {
		same := func(other metav1.OwnerReference) bool {
			return other.UID == ref.UID && apiequality.Semantic.DeepEqual(other, ref)
		}
		if slices.ContainsFunc(kept, same) {
			duplicates = append(duplicates, string(ref.UID))
			continue
		}
		kept = append(kept, ref)
	}
	return kept, duplicates
}
