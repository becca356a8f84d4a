package rest

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// ResetFieldsStrategy (optional) names, by version, the fields that a strategy clears or brings back whatever a client
// sends, such as status outside of the status subresource. A client that sends them does not own them.
//
// A storage whose strategy has it must have it as well: the installer asks the storage.
type ResetFieldsStrategy interface {
	GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set
}
