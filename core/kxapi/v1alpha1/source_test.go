package v1alpha1

import "testing"

func TestSourceName(t *testing.T) {
	for file, want := range map[string]string{
		"store/etcd3/update.go":      "store.etcd3.update.go",
		"server/chain.go":            "server.chain.go",
		"core/kxapi/v1alpha1/doc.go": "core.kxapi.v1alpha1.doc.go",
		"":                           "",
		"/usr/lib/go/src/fmt/f.go":   "",
		`C:\go\src\fmt\f.go`:         "",
		"../x.go":                    "",
		"..":                         "",
		"store/../x.go":              "",
		"./x.go":                     "",
	} {
		if got := SourceName(file); got != want {
			t.Errorf("SourceName(%q) = %q, want %q", file, got, want)
		}
	}
}
