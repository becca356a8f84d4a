package capture

import (
	"strings"
	"testing"
)

// admission are recorded writes that were changed or refused on their way in.
const admission = "../testdata/admission.json"

// TestRefusedOpens opens refused requests: the cursor is on the step that decided, with who that was and what can be done.
func TestRefusedOpens(t *testing.T) {
	for _, test := range []struct {
		journey, step string
		want          []string
	}{
		{"adm-2", "handler.webhook", []string{"the webhook deny.deny.example.com of", "not in this house", "narrow its rules"}},
		{"adm-3", "handler.webhook", []string{"the webhook broken.broken.example.com of", "must run and answer"}},
		{"adm-4", "handler.policy", []string{"the policy short-names, by its binding", "size(object.metadata.name) < 10"}},
		{"adm-5", "filter.authorization", []string{"no binding of ann, groups dev", "kx auth why create configmaps"}},
	} {
		h, s := linkedTo(t, admission, test.journey)
		h.Press("enter")
		if s.id() != test.step {
			t.Errorf("%s opens on %s, want %s", test.journey, s.id(), test.step)
		}
		text, _ := s.detail.Text()
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in Detail:\n%s", test.journey, want, text)
			}
		}
		h.Shows("/ all requests", "follow off", test.journey+" ", "create", "configmaps", test.step, "error:", "same as kubectl create -f FILE -n default")
		if test.journey == "adm-2" {
			h.Golden("denied")
		}
	}
}

// TestChangedByAdmission presses d on an object that a policy and webhooks changed: each is named, and leads to its step.
func TestChangedByAdmission(t *testing.T) {
	h, s := linkedTo(t, admission, "adm-1")
	h.Press("d")
	text, _ := s.detail.Text()
	for field, who := range map[string]string{
		"by: the policy": "an admission policy, house-rules/everywhere", "team: blue": "a webhook, scenes/label.label.example.com", "second: yes": "a webhook, scenes/second.label.example.com",
	} {
		_, name, _ := strings.Cut(who, ", ")
		beside := false
		for line := range strings.Lines(text) {
			beside = beside || strings.Contains(line, field) && strings.HasSuffix(strings.TrimSpace(line), name)
		}
		if !beside || !strings.Contains(text, who) {
			t.Errorf("%s of %s is not in Detail:\n%s", who, field, text)
		}
	}
	h.Shows("[Diff]", ">whole request: as it was stored", "12 changed: 4 by the request, 8 by the server", `+ a: "1"`, "#20 handler.decode",
		"+ by: the policy", "#30 house-rules/everywhere", "#38 scenes/label")
	h.Press("G", "enter")
	if s.id() != "handler.webhook" {
		t.Errorf("the last line leads to %s", s.id())
	}
}
