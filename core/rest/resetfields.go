package rest

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// ResetFieldsStrategy (optional) names, by version, the fields that a strategy always clears or restores, such as
// status outside of the status subresource. A client that sends such a field does not become its owner.
//
// If a strategy implements it, its storage must too, because the installer asks the storage.
type ResetFieldsStrategy interface {
	GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set
}
