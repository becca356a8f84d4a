package draw

import (
	"slices"
	"strings"
	"testing"
)

// TestWrapNames breaks lines at spaces, beside characters of Chinese, and long names behind a slash or a parameter, but not at hyphens.
func TestWrapNames(t *testing.T) {
	for _, test := range []struct {
		text string
		w    int
		want string
	}{
		{"把存储的字节解码为对象", 8, "把存储的|字节解码|为对象"},
		{"向 etcd 读取一个键", 12, "向 etcd 读取|一个键"},
		{"先读，再写，没有别人写过", 6, "先读，|再写，|没有别|人写过"},
		{"对象（第一个）", 8, "对象（第|一个）"},
		{"键 /registry/configmaps/default/demo 空闲", 14, "键|/registry/|configmaps/|default/demo|空闲"},
		{"宽", 1, "宽"},
		{"一\n二", 4, "一|二"},
		{"no wide character", 8, "no wide|characte|r"},
		{"the key /registry/configmaps/default/demo", 14, "the key|/registry/|configmaps/|default/demo"},
		{"it gets a/b or c/d", 9, "it gets|a/b or|c/d"},
		{"from kubectl-create to kubectl-replace", 15, "from|kubectl-create|to|kubectl-replace"},
		{"GET /pods?watch=true&limit=5", 16, "GET|/pods?|watch=true&|limit=5"},
		{"  a/b/c/d", 6, "  a/b/|c/d"},
		{"", 8, ""},
	} {
		if got := strings.Join(Wrap(test.text, test.w), "|"); got != test.want {
			t.Errorf("%q in %d: %s, want %s", test.text, test.w, got, test.want)
		}
	}
}

// TestWrapPainted breaks lines where Wrap does, and each line has the colours of its own text.
func TestWrapPainted(t *testing.T) {
	for _, test := range []struct {
		text string
		w    int
		want []string
	}{
		{"a \x1b[31mred and longer\x1b[0m end", 8, []string{"a \x1b[31mred\x1b[0m", "\x1b[31mand\x1b[0m", "\x1b[31mlonger\x1b[0m", "end"}},
		{"\x1b[2mabc\x1b[0m", 8, []string{"\x1b[2mabc\x1b[0m"}},
		{"\x1b[33m键 /registry/demo\x1b[0m 空闲", 10, []string{"\x1b[33m键\x1b[0m", "\x1b[33m/registry/\x1b[0m", "\x1b[33mdemo\x1b[0m 空闲"}},
		{"", 8, []string{""}},
	} {
		if got := WrapPainted(test.text, test.w); !slices.Equal(got, test.want) {
			t.Errorf("%q in %d: %q, want %q", test.text, test.w, got, test.want)
		}
	}
}

// FuzzWrap: no line is wider than it may be, and nothing but spaces is lost.
func FuzzWrap(f *testing.F) {
	f.Add("向 etcd 提交一个事务，针对 /registry/configmaps/default/demo——该键空闲。", 10)
	f.Add("a  宽（b）…", 2)
	f.Fuzz(func(t *testing.T, text string, w int) {
		text = Clean(text)
		if w < 2 || w > 200 {
			return
		}
		lines := Wrap(text, w)
		for _, l := range lines {
			if Width(l) > w {
				t.Errorf("%q in %d: %q has %d", text, w, l, Width(l))
			}
		}
		if got, want := strings.Fields(strings.Join(lines, "")), strings.Fields(text); !slices.Equal([]rune(strings.Join(got, "")), []rune(strings.Join(want, ""))) {
			t.Errorf("%q in %d: %q", text, w, lines)
		}
	})
}

// TestFitWide: a wide character is never halved.
func TestFitWide(t *testing.T) {
	for w := range 12 {
		for _, text := range []string{"宽宽宽宽", "a宽b宽c", "宽a"} {
			for _, got := range []string{Fit(text, w), FitRight(text, w), Ends(text, text, w), Block([]string{text}, w, 1)[0]} {
				if Width(got) != w {
					t.Errorf("%q in %d: %q has %d", text, w, got, Width(got))
				}
			}
		}
	}
}
