package transform

import (
	"context"
)

// Context describes a value besides its bytes.
type Context interface {
	// AuthenticatedData identifies the place of the value, normally its etcd key. Ciphers that authenticate it refuse
	// a value that was written with other data: a secret can't be moved to a key that the attacker may read.
	AuthenticatedData() []byte
}

// DefaultContext is a Context made of the authenticated data itself.
type DefaultContext []byte

// AuthenticatedData returns the bytes of c.
func (c DefaultContext) AuthenticatedData() []byte { return c }

// Transformer changes a value before it is written to etcd and changes it back after it was read. Each method undoes
// the other.
type Transformer interface {
	// TransformFromStorage returns what TransformToStorage was given. stale says that another key or provider would
	// write the value today, so it should be written again even if the object has not changed.
	TransformFromStorage(ctx context.Context, data []byte, dataCtx Context) (out []byte, stale bool, err error)

	// TransformToStorage returns the bytes to store.
	TransformToStorage(ctx context.Context, data []byte, dataCtx Context) ([]byte, error)
}
