package identity

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/util/keyutil"
)

func TestTokenKeyIsKept(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	first, err := TokenKey(d, "")
	if err != nil {
		t.Fatal(err)
	}
	second, err := TokenKey(d, "")
	if err != nil {
		t.Fatal(err)
	}
	if !first.(*ecdsa.PrivateKey).Equal(second) {
		t.Error("a second start made another key")
	}
	if info, err := os.Stat(d.File(tokenKeyName)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(d.File(tokenKeyName), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := TokenKey(d, ""); err == nil || !strings.Contains(err.Error(), d.File(tokenKeyName)+" to have a new one made") {
		t.Errorf("a broken key: %v", err)
	}
}

// TestGivenTokenKeys: private keys are read from files for both flags, and a file that is of no use is named with the reason.
func TestGivenTokenKeys(t *testing.T) {
	dir := t.TempDir()
	d := open(t, filepath.Join(dir, "data"))
	defer d.Close()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	data, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	private, garbage, missing := file("private", data), file("garbage", []byte("garbage")), filepath.Join(dir, "missing")
	if got, err := TokenKey(d, private); err != nil || !key.Equal(got) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := os.Stat(d.File(tokenKeyName)); !os.IsNotExist(err) {
		t.Errorf("a key was made beside the given one: %v", err)
	}
	got, err := VerificationKeys([]string{private, private})
	if err != nil || len(got) != 2 || !key.PublicKey.Equal(got[1]) {
		t.Errorf("%v, %v", got, err)
	}
	for path, reason := range map[string]string{garbage: "does not contain", missing: "no such file"} {
		if _, err := TokenKey(d, path); err == nil || !strings.Contains(err.Error(), "--service-account-signing-key-file: ") || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := VerificationKeys([]string{private, path}); err == nil || !strings.Contains(err.Error(), "--service-account-key-file: ") || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
