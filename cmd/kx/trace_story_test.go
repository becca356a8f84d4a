package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// TestTraceStory tells of a request that was answered, and of one that was refused.
func TestTraceStory(t *testing.T) {
	p := newTyping(t)
	for _, test := range []struct {
		typed []string
		code  int
		tells []string
	}{
		{[]string{"create", "configmap", "told"}, 0, []string{
			"asks for POST /api/v1/namespaces/default/configmaps", "filters let it pass: system:masters may do all.",
			"  etcd gets a transaction on /registry/configmaps/default/told — the key was free, and /registry/namespaces/default still at revision ", " 201, of ", "etcd's revision ",
		}},
		{[]string{"create", "configmap", "told"}, 1, []string{"it fails", "already exists", " 409, of "}},
	} {
		if a := typeCommand(append(test.typed, "--trace")...); a.code != test.code {
			t.Fatalf("%v: exit code %d: %s", test.typed, a.code, a.err)
		} else {
			p.remember(a)
		}
		shown := typeCommand("trace", "show", p.values["ID"], "--story")
		for _, text := range test.tells {
			if shown.code != 0 || !strings.Contains(shown.out, text) {
				t.Errorf("%v: %q is not told (exit code %d): %s%s", test.typed, text, shown.code, shown.err, shown.out)
			}
		}
		if first, _, _ := strings.Cut(shown.out, "\n"); strings.HasPrefix(first, " ") {
			t.Errorf("the story begins with %q", first)
		}
	}
	if a := typeCommand("trace", "show", "--story", "--source", p.values["ID"]); a.code == 0 || !strings.Contains(a.err, "source") {
		t.Errorf("both at once: exit code %d: %s", a.code, a.err)
	}
}

// TestTraceStoryChinese tells a request in Chinese, as --lang or the environment wants, and has no word of it in what machines read.
func TestTraceStoryChinese(t *testing.T) {
	p := newTyping(t)
	created := typeCommand("create", "configmap", "chinese", "--trace")
	if created.code != 0 {
		t.Fatalf("exit code %d: %s", created.code, created.err)
	}
	p.remember(created)
	id := p.values["ID"]
	english := typeCommand("trace", "show", id, "--story")
	chinese := typeCommand("trace", "show", id, "--story", "--lang", "zh")
	for _, text := range []string{"请求 POST /api/v1/namespaces/default/configmaps", "个过滤器放行：system:masters 拥有全部权限（", "——该键空闲，/registry/namespaces/default 仍在修订版本 ", "响应码是 201"} {
		if chinese.code != 0 || !strings.Contains(chinese.out, text) {
			t.Errorf("%q is not told (exit code %d): %s%s", text, chinese.code, chinese.err, chinese.out)
		}
	}
	shown := typeCommand("trace", "show", id, "--lang=zh")
	for _, text := range []string{"— 该键空闲", "写响应", "/registry/configmaps/default/chinese"} {
		if !strings.Contains(shown.out, text) {
			t.Errorf("%q is not shown: %s%s", text, shown.err, shown.out)
		}
	}
	if a := typeCommand("trace", "show", id, "--story", "--lang", "fr"); a.code == 0 || !strings.Contains(a.err, "en and zh") {
		t.Errorf("French: exit code %d: %s", a.code, a.err)
	}
	t.Setenv("LANG", "zh_CN.UTF-8")
	if a := typeCommand("trace", "show", id, "--story"); a.out != chinese.out {
		t.Errorf("with LANG: %s%s", a.err, a.out)
	}
	if a := typeCommand("trace", "show", id, "--story", "--lang", "en"); a.out != english.out {
		t.Errorf("--lang en does not override LANG: %s%s", a.err, a.out)
	}
	var machine v1alpha1.Journey
	a := typeCommand("trace", "show", id, "-o", "json")
	if err := json.Unmarshal([]byte(a.out), &machine); err != nil {
		t.Fatal(err)
	}
	machine.Status.Sentences = nil // they are in both languages
	if steps, err := json.Marshal(machine); err != nil || strings.Contains(string(steps), "空闲") || !strings.Contains(a.out, "the key was free") {
		t.Errorf("JSON is for machines: %s%s", a.err, a.out)
	}
	if a := typeCommand("trace", "export", id); !strings.Contains(a.out, "## 讲解") || !strings.Contains(a.out, "participant etcd as etcd") {
		t.Errorf("the export: %s%s", a.err, a.out)
	}
}
