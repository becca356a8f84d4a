package transform

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"golang.org/x/crypto/nacl/secretbox"
)

const (
	secretboxKeySize   = 32
	secretboxNonceSize = 24
)

var errSecretboxOpen = errors.New("the stored data was not made with this key, or it was changed")

// NewSecretbox encrypts and authenticates values (XSalsa20 and Poly1305), but not the place they are stored at.
func NewSecretbox(key [secretboxKeySize]byte) Transformer { return &secretBox{key: key} }

type secretBox struct {
	key [secretboxKeySize]byte
}

func (t *secretBox) TransformFromStorage(_ context.Context, data []byte, _ Context) ([]byte, bool, error) {
	if len(data) < secretboxNonceSize+secretbox.Overhead {
		return nil, false, errTooShort
	}
	nonce := [secretboxNonceSize]byte(data[:secretboxNonceSize])
	box := data[secretboxNonceSize:]
	out, ok := secretbox.Open(make([]byte, 0, len(box)-secretbox.Overhead), box, &nonce, &t.key)
	if !ok {
		return nil, false, errSecretboxOpen
	}
	return out, false, nil
}

func (t *secretBox) TransformToStorage(_ context.Context, data []byte, _ Context) ([]byte, error) {
	var nonce [secretboxNonceSize]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, fmt.Errorf("make a nonce: %w", err)
	}
	out := make([]byte, secretboxNonceSize, secretboxNonceSize+secretbox.Overhead+len(data))
	copy(out, nonce[:])
	return secretbox.Seal(out, data, &nonce, &t.key), nil
}
