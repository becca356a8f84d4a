package escape_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/escape/escapetest"
)

func TestEscape(t *testing.T) {
	for _, text := range escapetest.Texts {
		if escapetest.Find(text.Raw, "") == "" {
			t.Fatalf("%s: the corpus has a text that nobody would find", text.Name)
		}
		line := escape.Line(text.Raw)
		if found := escapetest.Find(line, ""); found != "" || !strings.Contains(line, text.Seen) {
			t.Errorf("%s: %s is left in the line %q", text.Name, found, line)
		}
		if escape.Line(line) != line {
			t.Errorf("%s: escaped twice it is %q", text.Name, escape.Line(line))
		}
		if found := escapetest.Find(escape.Text(text.Raw), "\n\t"); found != "" {
			t.Errorf("%s: %s is left in the text %q", text.Name, found, escape.Text(text.Raw))
		}
	}
	for _, text := range []string{"", "plain", "größer 日本 🙂 \ufffd", `a\x1b`} {
		if escape.Line(text) != text {
			t.Errorf("%q becomes %q", text, escape.Line(text))
		}
	}
	if got := escape.Line("\x1b\n\u009b\u202e\U000e0041\xff"); got != `\x1b\n\u009b\u202e\U000e0041\xff` {
		t.Errorf("%s", got)
	}
	if got := escape.Text("a\n\tb\r"); got != "a\n\tb\\r" {
		t.Errorf("%q", got)
	}
}

func TestJSON(t *testing.T) {
	for _, text := range escapetest.Texts {
		if !utf8.ValidString(text.Raw) {
			continue
		}
		data, err := json.Marshal(map[string]string{text.Raw: text.Raw})
		if err != nil {
			t.Fatal(err)
		}
		got := escape.JSON(data)
		if found := escapetest.Find(string(got), ""); found != "" {
			t.Errorf("%s: %s is left in %s", text.Name, found, got)
		}
		var back map[string]string
		if err := json.Unmarshal(got, &back); err != nil || back[text.Raw] != text.Raw {
			t.Errorf("%s: %s means %q, %v", text.Name, got, back, err)
		}
		asYAML := escape.YAML(data, yaml.JSONToYAML)
		if found := escapetest.Find(string(asYAML), "\n"); found != "" {
			t.Errorf("%s: %s is left in %s", text.Name, found, asYAML)
		}
		if err := yaml.Unmarshal(asYAML, &back); err != nil || len(back) != 1 || back[text.Raw] != text.Raw {
			t.Errorf("%s: %s means %q, %v", text.Name, asYAML, back, err)
		}
	}
	if got := escape.JSON([]byte("{\"a\":\"\x9b\xff\"}")); string(got) != "{\"a\":\"\ufffd\ufffd\"}" {
		t.Errorf("invalid UTF-8 becomes %q", got)
	}
}
