package authn

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestTokenFile(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		mode os.FileMode
		want string // part of the error; empty for none
	}{
		"good":                 {"t1,ann,1\nsecret2,bob,2,\"a,b\"\n", 0o600, ""},
		"of a group":           {"t1,ann,1\n", 0o640, ""},
		"read by all":          {"t1,ann,1\n", 0o644, "can be read or written by others (mode 0644): run chmod 600"},
		"written by the group": {"t1,ann,1\n", 0o660, "can be read or written by others (mode 0660)"},
		"no user":              {"t1,ann,1\n\nsecret2,,2\n", 0o600, "--token-auth-file: line 3 of "},
		"a blank user":         {"t1, ,1\n", 0o600, "has no user name"},
		"too short":            {"t1,ann,1\nsecret2,bob\n", 0o600, "line 2 of "},
		"broken":               {"t1,ann,1\nsecret2\",bob,2\n", 0o600, "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && test.mode != 0o600 {
				t.Skip("modes say nothing here")
			}
			file := filepath.Join(t.TempDir(), "tokens")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, test.mode); err != nil {
				t.Fatal(err)
			}
			_, err := New(t.Context(), Config{ClientCAs: x509.NewCertPool, TokenFile: file})
			if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret2")) {
				t.Errorf("%v, want %q and no token", err, test.want)
			}
		})
	}
}
