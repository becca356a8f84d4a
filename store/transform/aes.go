package transform

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
)

var errTooShort = errors.New("the stored data was shorter than the required size")

// NewAESGCM encrypts values, and authenticates them together with their etcd key. The encryption key has 16, 24 or 32
// bytes. Nonces are random, so a key must be replaced before it has encrypted 2^32 values.
func NewAESGCM(key []byte) (Transformer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &aesGCM{aead: aead}, nil
}

type aesGCM struct {
	aead cipher.AEAD
}

func (t *aesGCM) TransformFromStorage(_ context.Context, data []byte, dataCtx Context) ([]byte, bool, error) {
	n := t.aead.NonceSize()
	if len(data) < n {
		return nil, false, errTooShort
	}
	out, err := t.aead.Open(nil, data[:n], data[n:], dataCtx.AuthenticatedData())
	return out, false, err
}

func (t *aesGCM) TransformToStorage(_ context.Context, data []byte, dataCtx Context) ([]byte, error) {
	n := t.aead.NonceSize()
	out := make([]byte, n, n+len(data)+t.aead.Overhead())
	if _, err := rand.Read(out); err != nil {
		return nil, fmt.Errorf("make a nonce: %w", err)
	}
	return t.aead.Seal(out, out, data, dataCtx.AuthenticatedData()), nil
}

var (
	errBlockSize = errors.New("the stored data is not a multiple of the block size")
	errPadding   = errors.New("invalid PKCS7 data (empty or not padded)")
	errPadBytes  = errors.New("invalid padding on input")
)

// NewAESCBC encrypts values without authenticating them: a writer with access to etcd can change them unnoticed. It
// exists for data that was written with it. The key has 16, 24 or 32 bytes.
func NewAESCBC(key []byte) (Transformer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return &aesCBC{block: block}, nil
}

type aesCBC struct {
	block cipher.Block
}

func (t *aesCBC) TransformFromStorage(_ context.Context, data []byte, _ Context) ([]byte, bool, error) {
	if len(data) < aes.BlockSize {
		return nil, false, errTooShort
	}
	iv, data := data[:aes.BlockSize], data[aes.BlockSize:]
	if len(data)%aes.BlockSize != 0 {
		return nil, false, errBlockSize
	}
	if len(data) == 0 {
		return nil, false, errPadding
	}
	out := make([]byte, len(data))
	cipher.NewCBCDecrypter(t.block, iv).CryptBlocks(out, data)
	padding := int(out[len(out)-1])
	if padding == 0 || padding > len(out) {
		return nil, false, errPadding
	}
	size := len(out) - padding
	for _, b := range out[size:] {
		if int(b) != padding {
			return nil, false, errPadBytes
		}
	}
	return out[:size], false, nil
}

func (t *aesCBC) TransformToStorage(_ context.Context, data []byte, _ Context) ([]byte, error) {
	padding := aes.BlockSize - len(data)%aes.BlockSize
	out := make([]byte, aes.BlockSize, aes.BlockSize+len(data)+padding)
	if _, err := rand.Read(out); err != nil {
		return nil, fmt.Errorf("make an IV: %w", err)
	}
	out = append(out, data...)
	out = append(out, bytes.Repeat([]byte{byte(padding)}, padding)...)
	iv, body := out[:aes.BlockSize], out[aes.BlockSize:]
	cipher.NewCBCEncrypter(t.block, iv).CryptBlocks(body, body)
	return out, nil
}
