package theme

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muesli/termenv"
)

func TestSkins(t *testing.T) {
	for text, want := range map[string]string{
		"base: light\nkey: \"#112233\"\nbad: 9\n": "",
		"key: \"#112233\"\n":                      "",
		"":                                        "line 1: it has no colours",
		"- a\n":                                   "line 1: it is no list of roles",
		"key: \"#112233\"\nforcus: \"#112233\"\n": `line 2: there is no role "forcus"; near it: focus`,
		"base: ligt\n":          `line 1: there is no theme "ligt"; near it: light`,
		"text: 1\n\nkey: red\n": `line 3: "red" is no colour for key`,
		"key: 1\nkey: 2\n":      "line 2: key is there twice",
		"key: #112233\n":        `line 1: "" is no colour for key: write "#RRGGBB" in quotes`,
		"key: [1]\n":            "line 1: \"\" is no colour for key",
		"a: b: c\n":             "mapping values are not allowed",
	} {
		_, err := parseSkin([]byte(text))
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// example writes a theme as a file of colours.
func example(name string) string {
	p := based[name]
	roles := p.roles()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", name)
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		fmt.Fprintf(&b, "%s: %q\n", role, *roles[role])
	}
	return b.String()
}

// TestThemesPage: the page has every theme as a file, and what it has is one.
func TestThemesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/themes.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range based {
		if block := "```yaml\n" + example(name) + "```\n"; !strings.Contains(string(page), block) {
			t.Errorf("docs/themes.md lacks\n%s", block)
		}
		if skin, err := parseSkin([]byte(example(name))); err != nil || skin.palette != based[name] {
			t.Errorf("%s as a file: %v", name, err)
		}
	}
}

// TestOwnColours draws with the colours of a file.
func TestOwnColours(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte("base: light\nbad: \"#010203\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	skin, err := ReadSkin(file)
	if err != nil {
		t.Fatal(err)
	}
	terminal := DetectTerminal(os.Stdout)
	terminal.renderer.SetColorProfile(termenv.TrueColor)
	terminal.Skin = skin
	if got := terminal.Theme(Own).Bad("x"); !strings.Contains(got, "38;2;1;2;3") {
		t.Errorf("%q", got)
	}
	if got, want := terminal.Theme(Own).Good("x"), terminal.Theme(Light).Good("x"); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if names := terminal.Names(); names[len(names)-1] != Own {
		t.Errorf("%q", names)
	}
	if _, err := ReadSkin(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there")
	}
}
