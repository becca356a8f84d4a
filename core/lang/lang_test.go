package lang

import (
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

func TestParse(t *testing.T) {
	for name, want := range map[string]Language{"zh": Chinese, "ZH": Chinese, "zh_CN.UTF-8": Chinese, "zh-Hans-CN": Chinese, "en": English, "en_US": English} {
		if got, err := Parse(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "fr", "zhong", "C", "english"} {
		if got, err := Parse(name); err == nil || got != English {
			t.Errorf("%q is taken for %v", name, got)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	for _, test := range []struct {
		all, messages, lang string
		want                Language
	}{
		{"", "", "", English},
		{"", "", "C.UTF-8", English},
		{"", "", "en_US.UTF-8", English},
		{"", "", "zh_CN.UTF-8", Chinese},
		{"", "", "zh_TW", Chinese},
		{"", "", "zh", Chinese},
		{"", "", "de_DE.UTF-8", English},
		{"", "zh_CN.UTF-8", "en_US.UTF-8", Chinese},
		{"", "en_US.UTF-8", "zh_CN.UTF-8", English},
		{"zh_CN.UTF-8", "en_US.UTF-8", "en_US.UTF-8", Chinese},
		{"C", "zh_CN.UTF-8", "zh_CN.UTF-8", English},
	} {
		environment := map[string]string{"LC_ALL": test.all, "LC_MESSAGES": test.messages, "LANG": test.lang}
		if got := FromEnvironment(func(name string) string { return environment[name] }); got != test.want {
			t.Errorf("%v: %v, want %v", environment, got, test.want)
		}
	}
}

// TestWhy: a reason is told in the language with its values, or as the server wrote it.
func TestWhy(t *testing.T) {
	reason := func(kind string, values ...string) *v1alpha1.Reason {
		r := &v1alpha1.Reason{Kind: kind}
		for i := 0; i < len(values); i += 2 {
			r.Values = append(r.Values, v1alpha1.Attribute{Name: values[i], Value: values[i+1]})
		}
		return r
	}
	for _, test := range []struct {
		step v1alpha1.Step
		want string
	}{
		{v1alpha1.Step{Why: "the key …", Reason: reason(trace.KeyMoved.String(), "revision", "9", "expected", "7")}, "该键在修订版本 9，不是 7：没有写入"},
		{v1alpha1.Step{Why: "x", Reason: reason(trace.Allowed.String(), "rule", "RBAC: allowed by {x}")}, "RBAC: allowed by {x}"},
		{v1alpha1.Step{Why: "x", Reason: reason(trace.Allowed.String(), "rule", "system:masters may do all")}, "system:masters 拥有全部权限"},
		{v1alpha1.Step{Why: "x", Reason: reason(trace.WatchFailed.String(), "error", "held")}, "held"},
		{v1alpha1.Step{Why: "of a later kx", Reason: reason("of-a-later-kx")}, "of a later kx"},
		{v1alpha1.Step{Why: "without a kind"}, "without a kind"},
		{v1alpha1.Step{}, ""},
	} {
		if got := Chinese.Why(&test.step); got != test.want {
			t.Errorf("%v: %q, want %q", test.step.Reason, got, test.want)
		}
		if got := English.Why(&test.step); got != test.step.Why {
			t.Errorf("%v in English: %q", test.step.Reason, got)
		}
	}
}

// TestFill: there is a space between Chinese and other words, and none within Chinese.
func TestFill(t *testing.T) {
	for sentence, want := range map[string][2]string{
		"读取 {对象}":     {"读取 pods", "读取对象"},
		"读取 {对象} 一次":  {"读取 pods 一次", "读取对象一次"},
		"读取：{对象}。":    {"读取：pods。", "读取：对象。"},
		"{对象} 与 {对象}": {"pods 与 pods", "对象与对象"},
		"get {对象} x":  {"get pods x", "get 对象 x"},
		"没有":          {"没有", "没有"},
	} {
		for i, value := range []string{"pods", "对象"} {
			if got := Fill(sentence, func(string) (string, bool) { return value, true }); got != want[i] {
				t.Errorf("%s of %s: %q, want %q", sentence, value, got, want[i])
			}
		}
	}
}

// TestRead: what is wrong with a catalogue is said with its line.
func TestRead(t *testing.T) {
	c := read("# head\n[a]\nyes\n    是\n\nno\n  否\n")
	if len(c.errs) > 0 || c.texts["yes"] != "是" || c.texts["no"] != "否" || c.entries[0].Room != "a" {
		t.Errorf("%+v", c)
	}
	for _, file := range []string{"yes\nno\n  否", "  是\n", "yes\n  是\n  是", "yes\n  是\nyes\n  是", "yes"} {
		if c := read(file); len(c.errs) == 0 {
			t.Errorf("nothing is wrong with %q", file)
		}
	}
}

func TestEnglishStays(t *testing.T) {
	if got := English.Phrase("%d filters", 3); got != "3 filters" {
		t.Error(got)
	}
	if got := Chinese.Text("there is no such text"); got != "there is no such text" {
		t.Error(got)
	}
}
