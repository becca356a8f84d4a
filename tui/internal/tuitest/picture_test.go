package tuitest

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFrame(t *testing.T) {
	svg := string(Picture("<a & b>", [][]string{{
		"plain \x1b[1;38;2;255;135;0mbold\x1b[0m \x1b[48;2;58;58;58mchosen\x1b[0m",
		"中文 \x1b[38;2;1;2;3mx\x1b[0m </text><script>alert(1)</script> \x1b[38;5;9mindexed\x1b[0m",
		"\x1b]0;title\x07 \u202eover",
	}, {"the next frame"}}, "#e4e4e4", "#1e1e1e"))
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "script" {
			t.Errorf("text became an element:\n%s", svg)
		}
	}
	for _, want := range []string{
		`<title>&lt;a &amp; b&gt;</title>`, `<tspan x="12" textLength="40">plain</tspan>`, `<tspan x="60" textLength="32" font-weight="bold" fill="#ff8700">bold</tspan>`,
		`<rect x="100" y="-13" width="48" height="18" fill="#3a3a3a"/>`, `<tspan x="52" textLength="8" fill="#010203">x</tspan>`, "indexed", `\u202e`,
		"animation: turn 8s step-end infinite", "50.000%, 100% { visibility: hidden; }",
		`class="frame" style="animation-delay: 0s"`, `class="frame" style="animation-delay: 4s"`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is not in\n%s", want, svg)
		}
	}
	if strings.ContainsAny(svg, "\x1b\x07\u202e") {
		t.Errorf("a control character is in\n%q", svg)
	}
	if still := string(Picture("still", [][]string{{"one"}}, "#e4e4e4", "#1e1e1e")); strings.Contains(still, "animation") {
		t.Errorf("a picture of one frame moves:\n%s", still)
	}
}
