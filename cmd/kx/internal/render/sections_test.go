package render

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
)

// TestHostileSections: a document with rows from anybody is one document, and shows nothing that acts on a terminal.
func TestHostileSections(t *testing.T) {
	type row struct{ Name string }
	for _, format := range []Format{JSON, YAML} {
		for _, text := range append(escapetest.Texts, escapetest.Text{Name: "all", Raw: escapetest.Any()}) {
			raw := strings.ToValidUTF8(text.Raw, "\uFFFD")
			var out strings.Builder
			s := newSections(&out, format)
			for _, name := range []string{"plain", raw, "last"} {
				if err := s.row("rows", row{name}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.endRows("rows"); err != nil {
				t.Fatal(err)
			}
			if err := s.Value("sum", row{raw}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			var got struct {
				Rows []row
				Sum  row
			}
			read := json.Unmarshal
			if format == YAML {
				read = func(data []byte, into any) error { return yaml.Unmarshal(data, into) }
			}
			err := read([]byte(out.String()), &got)
			if err != nil || len(got.Rows) != 3 || got.Rows[1].Name != raw || got.Rows[2].Name != "last" || got.Sum.Name != raw {
				t.Errorf("%s: %v, %+v of\n%s", text.Name, err, got, out.String())
			}
			if found := escapetest.Find(out.String(), "\n"); found != "" {
				t.Errorf("%s: %s is left", text.Name, found)
			}
		}
	}
}
