package transform

import (
	"context"
)

// Context says what is known of a value besides its bytes.
type Context interface {
	// AuthenticatedData identifies the place the value is stored at, normally its etcd key. A value that was written
	// with other data does not open, where the cipher can tell: nobody can move a secret to a key they may read.
	AuthenticatedData() []byte
}

// DefaultContext is a Context made of the authenticated data itself.
type DefaultContext []byte

// AuthenticatedData returns the bytes of c.
func (c DefaultContext) AuthenticatedData() []byte { return c }

// Transformer changes a value before it is written to etcd and changes it back after it was read. Each method undoes
// the other.
type Transformer interface {
	// TransformFromStorage returns what was given to TransformToStorage. stale says that the value should be written
	// again although the object is the same, since it was written with something other than what would be used today.
	TransformFromStorage(ctx context.Context, data []byte, dataCtx Context) (out []byte, stale bool, err error)

	// TransformToStorage returns the bytes to store.
	TransformToStorage(ctx context.Context, data []byte, dataCtx Context) ([]byte, error)
}
