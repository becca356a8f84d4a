package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/keyutil"

	"github.com/kx-apiserver/kx/store/datadir/durable"
)

// tokenKeyName is the file of the key that signs tokens of service accounts. It has the same name in clusters of
// kubeadm.
const tokenKeyName = "sa.key"

// TokenKey returns the key that signs tokens of service accounts: the one in a file that a flag names, or else the
// directory's own, which is made at the first start.
func TokenKey(d *DataDir, given string) (crypto.Signer, error) {
	if given != "" {
		const flag = "--service-account-signing-key-file"
		if err := CheckSecret(flag, given); err != nil {
			return nil, err
		}
		key, err := readPrivateKey(given)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", flag, err)
		}
		return key, nil
	}
	file := d.File(tokenKeyName)
	key, err := readPrivateKey(file)
	if errors.Is(err, fs.ErrNotExist) {
		return makeTokenKey(file)
	}
	if err != nil {
		return nil, fmt.Errorf("read the key that signs tokens of service accounts: %w; remove %s to have a new one made, which "+
			"makes all tokens so far invalid", err, file)
	}
	return key, nil
}

func makeTokenKey(file string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key that signs tokens of service accounts: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err == nil {
		err = writeFile(file, keyPEM, 0o600)
	}
	if err == nil {
		err = durable.SyncDir(filepath.Dir(file))
	}
	if err != nil {
		return nil, fmt.Errorf("keep the key that signs tokens of service accounts: %w", err)
	}
	return key, nil
}

func readPrivateKey(file string) (crypto.Signer, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	key, err := keyutil.ParsePrivateKeyPEM(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s: a key of the type %T can't sign", file, key)
	}
	return signer, nil
}

// VerificationKeys reads the public keys of files, which may also hold private ones.
func VerificationKeys(files []string) (keys []crypto.PublicKey, err error) {
	for _, file := range files {
		read, err := keyutil.PublicKeysFromFile(file)
		if err != nil {
			return nil, fmt.Errorf("read --service-account-key-file: %w", err)
		}
		for _, key := range read {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
