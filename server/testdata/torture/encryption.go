//go:build linux

package torture

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// encryption is how servers encrypt secrets and widgets: by the first of two keys, and all read both. Nil is not at all.
type encryption struct {
	file string
	keys [2]encryptionKey
	// writer is the key that servers encrypt with.
	writer int
}

type encryptionKey struct{ name, secret string }

func newEncryption(file string) (*encryption, error) {
	e := &encryption{file: file, keys: [2]encryptionKey{{"old", "torture-key-of-thirty-two-bytes-"}, {"new", "another-torture-key-of-32-bytes-"}}}
	return e, e.write()
}

// write writes the configuration of servers.
func (e *encryption) write() error {
	var keys []string
	for i := range e.keys {
		k := e.keys[(e.writer+i)%len(e.keys)]
		keys = append(keys, fmt.Sprintf("{name: %s, secret: %s}", k.name, base64.StdEncoding.EncodeToString([]byte(k.secret))))
	}
	config := fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [%s, %s]
  providers: [{aesgcm: {keys: [%s]}}]
`, secrets.resource.Resource, widgets.resource.GroupResource(), strings.Join(keys, ", "))
	// Renamed, since a server may start at any moment.
	if err := os.WriteFile(e.file+".new", []byte(config), 0o600); err != nil {
		return err
	}
	return os.Rename(e.file+".new", e.file)
}

const encryptionPrefix = "k8s:enc:aesgcm:v1:"

// open decrypts what etcd has at a key, by nothing of kx. A value in the clear is an error.
func (e *encryption) open(key string, value []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(value, []byte(encryptionPrefix))
	if !ok {
		return nil, fmt.Errorf("%s is not encrypted", key)
	}
	name, rest, _ := bytes.Cut(rest, []byte(":"))
	for _, k := range e.keys {
		if k.name != string(name) {
			continue
		}
		block, err := aes.NewCipher([]byte(k.secret))
		if err != nil {
			return nil, err
		}
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		if len(rest) < gcm.NonceSize() {
			return nil, fmt.Errorf("%s has no nonce", key)
		}
		plain, err := gcm.Open(nil, rest[:gcm.NonceSize()], rest[gcm.NonceSize():], []byte(key))
		if err != nil {
			return nil, fmt.Errorf("decrypt %s: %w", key, err)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("%s is encrypted by an unknown key %q", key, name)
}

func encrypted(w *world) bool { return w.encryption != nil }

// rotateKeys lets servers write with the other key from their next start on.
func rotateKeys(ctx context.Context, w *world, random *rand.Rand) error {
	w.encryption.writer ^= 1
	if err := w.encryption.write(); err != nil {
		return err
	}
	return killKX(ctx, w, random)
}
