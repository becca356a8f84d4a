package kms

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

const (
	seedSize = 32
	infoSize = 32
	keySize  = 32
)

var errTooShort = errors.New("the stored data was shorter than the required size")

// secret opens the data of values.
type secret interface {
	open(data, place []byte) ([]byte, error)
}

func newSecret(kind sourceType, plain []byte) (secret, error) {
	switch {
	case kind == sourceKey:
		gcm, err := newGCM(plain)
		if err != nil {
			return nil, errors.New("the plugin decrypted the source of a value's key to something that is no key of AES")
		}
		return key{gcm}, nil
	case len(plain) < seedSize:
		return nil, fmt.Errorf("invalid seed length %d used for key generation", len(plain))
	}
	return seed(plain), nil
}

// seed is the secret from which each value's key is derived, with the info at the beginning of the value.
type seed []byte

func (s seed) gcm(info []byte) (cipher.AEAD, error) {
	derived, err := hkdf.Expand(sha256.New, s, string(info), keySize)
	if err != nil {
		return nil, err
	}
	return newGCM(derived)
}

func (s seed) open(data, place []byte) ([]byte, error) {
	if len(data) < infoSize {
		return nil, errTooShort
	}
	gcm, err := s.gcm(data[:infoSize])
	if err != nil {
		return nil, err
	}
	return openGCM(gcm, data[infoSize:], place)
}

// overhead is the difference in length between data and the value in it.
const overhead = infoSize + 12 + 16

// seal appends the data of a value.
func (s seed) seal(to, value, place []byte) ([]byte, error) {
	start := len(to)
	var random [infoSize + 12]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("make a nonce: %w", err)
	}
	to = append(to, random[:]...)
	gcm, err := s.gcm(random[:infoSize])
	if err != nil {
		return nil, err
	}
	return gcm.Seal(to, to[start+infoSize:], value, place), nil
}

// key is a key of AES-GCM.
type key struct{ gcm cipher.AEAD }

func (k key) open(data, place []byte) ([]byte, error) { return openGCM(k.gcm, data, place) }

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func openGCM(gcm cipher.AEAD, data, place []byte) ([]byte, error) {
	if len(data) < gcm.NonceSize() {
		return nil, errTooShort
	}
	return gcm.Open(nil, data[:gcm.NonceSize()], data[gcm.NonceSize():], place)
}
