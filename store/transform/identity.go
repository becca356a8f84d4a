package transform

import (
	"bytes"
	"context"
	"errors"
)

// encryptedPrefix starts every encrypted value. JSON starts with "{" and protobuf with "k8s\x00", so no plain object
// can be taken for one.
var encryptedPrefix = []byte("k8s:enc:")

var errEncryptedData = errors.New("identity transformer tried to read encrypted data")

// NewIdentity returns the transformer that stores objects as they are. It refuses to read encrypted values: without
// that a decoder would report garbage, and a configuration that lacks the right key would look like damaged data.
func NewIdentity() Transformer { return identity{} }

type identity struct{}

func (identity) TransformFromStorage(_ context.Context, data []byte, _ Context) ([]byte, bool, error) {
	if bytes.HasPrefix(data, encryptedPrefix) {
		return nil, false, errEncryptedData
	}
	return data, false, nil
}

func (identity) TransformToStorage(_ context.Context, data []byte, _ Context) ([]byte, error) {
	return data, nil
}
