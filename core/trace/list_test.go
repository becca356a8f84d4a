package trace

import (
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/steps"
)

// TestList: a text names so many entries of so many bytes, and counts the others.
func TestList(t *testing.T) {
	l, made := &List{}, 0
	for range 1000 {
		l.AddBy(func() string { made++; return strings.Repeat("é", 1000) })
	}
	l.Skip(5)
	text := l.Join("; ")
	most := min(MaxListed*(maxEntry+len("…; "))+20, maxText)
	if made != MaxListed || l.Count() != 1005 || !strings.HasSuffix(text, "é… and 995 more") || len(text) > most {
		t.Errorf("%d texts were made of %d entries; %d bytes: %s", made, l.Count(), len(text), text[len(text)-100:])
	}
	if got := ListOf([]string{"a", "b"}).String(); got != "a, b" {
		t.Errorf("got %q", got)
	}
	var none *List
	none.AddBy(func() string { t.Error("a text was made that nobody records"); return "" })
	if none.Add("a"); none.Count() != 0 || none.String() != "" || !none.Full() {
		t.Error("nil takes entries")
	}
	if new(Step).NewList() == nil || (*Step)(nil).NewList() != nil {
		t.Error("a List is for a step that is recorded")
	}
	ctx, j := begin(t, NewRecorder("p", DefaultLimits))
	_, s := Start(ctx, steps.StoreGet, "key")
	s.TextList("groups", strings.Split(strings.Repeat("g,", 100), ","))
	s.WhyList(keyInNamespace, []string{"a", "b"})
	s.End(nil)
	if one := j.Record().Steps[0]; one.Attrs[0].Text != "g,g,g,g,g,g,g,g,g,g and 91 more" || !strings.Contains(one.Why, "a, b") {
		t.Errorf("got %+v", one)
	}
}
