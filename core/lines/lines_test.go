package lines_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/lines"
)

const text = `# a file
kind: Config
jwt:
- issuer:
    url: a
    name: &name b
- issuer: {url: c,
    audiences: [x,
      y]}
labels:
  a.b/c: d
  again: *name
`

func TestLines(t *testing.T) {
	d := lines.NewDocument([]byte(text))
	for path, want := range map[string]string{
		"jwt": "line 4: ", "jwt[0].issuer.url": "line 5: ", "jwt[1].issuer.audiences[1]": "line 9: ", "labels[a.b/c]": "line 11: ",
		"jwt[0].issuer.certificateAuthority": "line 5: ", "jwt[7].issuer": "line 4: ", "nothing.at[0].all": "line 2: ", "": "line 2: ",
		"labels.again.x": "line 12: ", "[": "line 2: ", "..": "line 2: ",
	} {
		if got := d.At(path); got != want {
			t.Errorf("%s is at %q, not at %q", path, got, want)
		}
	}
	if got := d.In("jwt[1]").At("issuer.audiences"); got != "line 8: " {
		t.Errorf("in an item it is at %q", got)
	}
	if got := d.Below(100).At("kind"); got != "line 102: " {
		t.Errorf("below others it is at %q", got)
	}
	if value, ok := d.Value("kind"); value != "Config" || !ok {
		t.Errorf("the kind is %q, %v", value, ok)
	}
	if none := lines.NewDocument([]byte("a: [")); none.Readable() || none.At("a") != "" {
		t.Error("what is no YAML has lines")
	}
	if got := lines.NewDocument(nil).At("kind"); got != "line 1: " {
		t.Errorf("of nothing it is at %q", got)
	}
}

func TestErrors(t *testing.T) {
	d := lines.NewDocument([]byte(text))
	url := field.Required(field.NewPath("jwt").Index(1).Child("issuer", "url"), "")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{url, "line 7: jwt[1].issuer.url: Required value"},
		{fmt.Errorf("of ann: %w", url), "line 7: of ann: jwt[1].issuer.url: Required value"},
		{field.ErrorList{url, field.Required(field.NewPath("labels"), "")}.ToAggregate(), "line 7: jwt[1].issuer.url: Required value; line 11: labels: Required value"},
		{errors.Join(errors.New("jwt[0]: is bad"), errors.New("all is bad")), "line 4: jwt[0]: is bad; all is bad"},
		{utilerrors.NewAggregate([]error{errors.Join(url)}), "line 7: jwt[1].issuer.url: Required value"},
		{fmt.Errorf("both %w and %w", errors.New("a"), errors.New("b")), "both a and b"},
		{runtime.NewStrictDecodingError([]error{errors.New(`unknown field "jwt[1].issuer.yrl"`)}), `line 7: jwt[1].issuer.yrl: unknown field "jwt[1].issuer.yrl"`},
		{errors.New("json: cannot unmarshal string into Go struct field Config.labels.again of type int"),
			"line 12: labels.again: json: cannot unmarshal string into Go struct field Config.labels.again of type int"},
		{field.Invalid(field.NewPath("kind"), "line 9", "no"), `line 2: kind: Invalid value: "line 9": no`},
		{errors.New("yaml: line 3: no"), "yaml: line 3: no"},
		{errors.New("open: no such file"), "open: no such file"},
		{errors.New("two\nlines"), "two lines"},
	} {
		if got := d.Error(tc.err); got.Error() != tc.want {
			t.Errorf("%v\nis   %v\nnot  %s", tc.err, got, tc.want)
		}
	}
	if err := lines.Error([]byte(text), url); err.Error() != d.Error(url).Error() {
		t.Error(err)
	}
	for _, err := range []error{d.Error(nil), lines.Error([]byte(text), nil)} {
		if err != nil {
			t.Error(err)
		}
	}
}

// FuzzLines: no document and no path is too much, and a line is one of the document's.
func FuzzLines(f *testing.F) {
	f.Add(text, "jwt[0].issuer.url")
	f.Add("a: &a [*a, *a]\n", "a[0][0][0]")
	f.Add("{\"a\": {\"b\": 1}}", "a.b")
	f.Add("&x x: *x", "x")
	f.Fuzz(func(t *testing.T, text, path string) {
		d := lines.NewDocument([]byte(text))
		at := d.At(path)
		if !d.Readable() {
			if at != "" {
				t.Errorf("what is no YAML says %q", at)
			}
			return
		}
		var line int
		// Beside \n, YAML ends lines at \r and at three characters of Unicode.
		most := len(text) - len(strings.NewReplacer("\n", "", "\r", "", "\u0085", "", "\u2028", "", "\u2029", "").Replace(text)) + 1
		if _, err := fmt.Sscanf(at, "line %d: ", &line); err != nil || line < 1 || line > most {
			t.Errorf("%q is at %q of %q", path, at, text)
		}
		_ = d.Error(errors.New(path + ": bad"))
	})
}
