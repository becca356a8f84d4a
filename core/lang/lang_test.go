package lang

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

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

// TestWhy: a reason is told in the language with its values, by the sentence that came with the journey, or as the server wrote it.
func TestWhy(t *testing.T) {
	reason := func(kind string, values ...string) *v1alpha1.Reason {
		r := &v1alpha1.Reason{Kind: kind}
		for i := 0; i < len(values); i += 2 {
			r.Values = append(r.Values, v1alpha1.Attribute{Name: values[i], Value: values[i+1]})
		}
		return r
	}
	j := &v1alpha1.Journey{}
	j.Status.Sentences = []v1alpha1.Sentence{
		{Kind: "key-moved", English: "the key is at revision {revision}, not {expected}", Chinese: "该键在修订版本 {revision}，不是 {expected}：没有写入"},
		{Kind: "allowed", English: "{rule:word}", Chinese: "{rule:word}"},
		{Kind: "watch-failed", English: "{error:quote}", Chinese: "{error:quote}"},
		{Kind: "english", English: "in English"},
		{Kind: "long", English: "x", Chinese: strings.Repeat("长", sentenceMost)},
		{Kind: "many", English: "x", Chinese: strings.Repeat("{v}", placeholdersMost+1)},
		{Kind: "broken", English: "x", Chinese: "坏 {v"},
	}
	for _, test := range []struct {
		step v1alpha1.Step
		want string
	}{
		{v1alpha1.Step{Why: "the key …", Reason: reason("key-moved", "revision", "9", "expected", "7")}, "该键在修订版本 9，不是 7：没有写入"},
		{v1alpha1.Step{Why: "the key is at 9", Reason: reason("key-moved", "at", "9")}, "the key is at 9"},
		{v1alpha1.Step{Why: "x", Reason: reason("allowed", "rule", "RBAC: allowed by {x}")}, "RBAC: allowed by {x}"},
		{v1alpha1.Step{Why: "x", Reason: reason("allowed", "rule", "system:masters may do all")}, "system:masters 拥有全部权限"},
		{v1alpha1.Step{Why: "x", Reason: reason("watch-failed", "error", "system:masters may do all")}, "system:masters may do all"},
		{v1alpha1.Step{Why: "x", Reason: reason("watch-failed", "error", "held")}, "held"},
		{v1alpha1.Step{Why: "in English", Reason: reason("english")}, "in English"},
		{v1alpha1.Step{Why: "too long", Reason: reason("long")}, "too long"},
		{v1alpha1.Step{Why: "too many", Reason: reason("many", "v", "v")}, "too many"},
		{v1alpha1.Step{Why: "x", Reason: reason("broken", "v", "v")}, "坏 v"},
		{v1alpha1.Step{Why: "of a later kx", Reason: reason("of-a-later-kx")}, "of a later kx"},
		{v1alpha1.Step{Why: "without a kind"}, "without a kind"},
		{v1alpha1.Step{}, ""},
	} {
		if got := Chinese.Why(j, &test.step); got != test.want {
			t.Errorf("%v: %q, want %q", test.step.Reason, got, test.want)
		}
		if got := English.Why(j, &test.step); got != test.step.Why {
			t.Errorf("%v in English: %q", test.step.Reason, got)
		}
	}
}

// TestComplete: a journey gets the sentences that it lacks, and keeps those that it has.
func TestComplete(t *testing.T) {
	taken := trace.Because("key-taken", "the key is taken", "该键已被占用")
	moved := trace.Because("key-moved", "the key is elsewhere", "该键在别处")
	j := &v1alpha1.Journey{}
	for _, kind := range []string{"key-taken", "key-moved", "key-taken", "of-a-later-kx"} {
		j.Status.Steps = append(j.Status.Steps, v1alpha1.Step{Reason: &v1alpha1.Reason{Kind: kind}})
	}
	own := v1alpha1.Sentence{Kind: "key-moved", English: "moved", Chinese: "移动了"}
	j.Status.Sentences = []v1alpha1.Sentence{own}
	j.Status.Steps = append(j.Status.Steps, v1alpha1.Step{})
	want := []v1alpha1.Sentence{{Kind: "key-taken", English: "the key is taken", Chinese: "该键已被占用"}, own}
	for range 2 {
		if Complete(j, trace.NewCatalogue([]trace.Reason{taken, moved})); !slices.Equal(j.Status.Sentences, want) {
			t.Errorf("%+v", j.Status.Sentences)
		}
	}
	if Complete(j, trace.Catalogue{}); len(j.Status.Sentences) != 2 {
		t.Errorf("%+v", j.Status.Sentences)
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
			if got := Fill(sentence, func(string) string { return value }); got != want[i] {
				t.Errorf("%s of %s: %q, want %q", sentence, value, got, want[i])
			}
		}
	}
}

// TestRead: a room has a file at its path, and what is wrong with a file is said with its line.
func TestRead(t *testing.T) {
	c := readAll(fstest.MapFS{"zh/all.txt": {Data: []byte("# head\nyes\n    是\n")}, "zh/a/b.txt": {Data: []byte("\nno\n  否\n")}})
	if len(c.errs) > 0 || c.texts["yes"] != "是" || c.texts["no"] != "否" || c.entries[0].Room != "a/b" || c.entries[1].Room != "all" {
		t.Errorf("%+v", c)
	}
	for file, want := range map[string]string{
		"yes\nno\n  否": `zh/a.txt:2: "yes" has no translation`, "  是\n": `zh/a.txt:1: "是" translates nothing`,
		"yes\n  是\n  是": `zh/a.txt:3: "是" translates nothing`, "yes\n  是\nyes\n  是": `zh/a.txt:4: "yes" is translated twice`,
		"yes": `zh/a.txt:1: "yes" has no translation`,
	} {
		if c := readAll(fstest.MapFS{"zh/a.txt": {Data: []byte(file)}}); len(c.errs) != 1 || c.errs[0].Error() != want {
			t.Errorf("wrong with %q: %v", file, c.errs)
		}
	}
	twice := fstest.MapFS{"zh/a.txt": {Data: []byte("yes\n  是\n")}, "zh/b.txt": {Data: []byte("yes\n  对\n")}}
	if c := readAll(twice); len(c.errs) != 1 {
		t.Errorf("a text has two translations: %v", c.errs)
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
