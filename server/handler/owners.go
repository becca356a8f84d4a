package handler

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/warning"
)

const (
	duplicateOwnersFormat = ".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, " +
		"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %s"
	afterAdmission = " after mutating admission happens"
)

// dedupOwnerReferencesAndAddWarning removes duplicate owners from obj, and warns the client of them.
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

// ownerKey is equal for equal references.
type ownerKey struct {
	apiVersion, kind, name string
	uid                    types.UID
	controller, blocks     truth
}

// truth is a bool that may be missing.
type truth struct{ known, is bool }

func truthOf(b *bool) truth { return truth{b != nil, b != nil && *b} }

func keyOfOwner(ref metav1.OwnerReference) ownerKey {
	return ownerKey{ref.APIVersion, ref.Kind, ref.Name, ref.UID, truthOf(ref.Controller), truthOf(ref.BlockOwnerDeletion)}
}

// dedupOwnerReferences drops references that equal an earlier one, and returns the UIDs of the dropped ones.
func dedupOwnerReferences(refs []metav1.OwnerReference) (kept []metav1.OwnerReference, duplicates []string) {
	if len(refs) < 2 {
		return refs, nil
	}
	known := make(map[ownerKey]bool, len(refs))
	for _, ref := range refs {
		key := keyOfOwner(ref)
		if known[key] {
			duplicates = append(duplicates, string(ref.UID))
			continue
		}
		known[key] = true
		kept = append(kept, ref)
	}
	return kept, duplicates
}
