package capture

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
)

// because is a journey with steps of these reasons, each with its sentence.
func because(name string, kinds ...string) *v1alpha1.Journey {
	j := journey(name)
	for _, kind := range kinds {
		j.Status.Steps = append(j.Status.Steps, v1alpha1.Step{Parent: -1, Why: "as " + kind + " 7", Reason: &v1alpha1.Reason{
			Kind: kind, Values: []v1alpha1.Attribute{{Name: "n", Value: "7"}},
		}})
		j.Status.Sentences = append(j.Status.Sentences, v1alpha1.Sentence{Kind: kind, English: "as " + kind + " {n}", Chinese: "因为 " + kind + "：{n}"})
	}
	return j
}

// TestSentences: a capture holds the sentence of a reason once, and each journey that is read has those of its steps. So a reader that
// has never heard of a reason shows it in both languages.
func TestSentences(t *testing.T) {
	later := because("p-4", "moved")
	later.Status.Sentences[0].Chinese = "后来：{n}"
	all := []*v1alpha1.Journey{because("p-1", "moved", "taken"), because("p-2", "taken", "gone", "moved"), journey("p-3"), later, later}
	data := write(t, all...)
	for text, want := range map[string]int{`"english":"as moved {n}"`: 2, `"english":"as taken {n}"`: 1, `"english":"as gone {n}"`: 1, "后来": 1} {
		if got := strings.Count(string(data), text); got != want {
			t.Errorf("%s stands there %d times, want %d", text, got, want)
		}
	}
	_, read, err := readAll(strings.NewReader(string(data)))
	if err != nil || !reflect.DeepEqual(read, all) {
		t.Fatalf("%v; read\n%+v\nwant\n%+v", err, read, all)
	}
	s := &read[1].Status.Steps[3]
	if english, chinese := lang.English.Why(read[1], s), lang.Chinese.Why(read[1], s); english != "as gone 7" || chinese != "因为 gone：7" {
		t.Errorf("%q, %q", english, chinese)
	}
}

// TestHostileSentences: sentences that are too long are left out, those that no step has are not kept for later lines without bounds,
// and a step whose sentence is missing says why as its server wrote it.
func TestHostileSentences(t *testing.T) {
	step := func(kind string) string { return `"steps":[{"parent":-1,"why":"w","reason":{"kind":"` + kind + `"}}]` }
	sentence := func(kind, text string) string {
		return fmt.Sprintf(`{"kind":%q,"english":%q,"chinese":%q}`, kind, text, text)
	}
	var many []string
	for i := range sentencesMost {
		many = append(many, sentence(fmt.Sprint("kind-", i), "一"))
	}
	long := strings.Repeat("长", sentenceMost)
	text := of(`"sentences":[`+sentence("long", long)+","+sentence(long, "x")+"],"+step("long")) +
		strings.TrimPrefix(of(`"sentences":[`+strings.Join(many, ",")+"],"+step("kind-7")), head) +
		strings.TrimPrefix(of(`"sentences":[`+sentence("one-more", "多")+"],"+step("one-more")), head) +
		strings.TrimPrefix(of(step("one-more")), head) + strings.TrimPrefix(of(step("kind-8")), head)
	_, read, err := readAll(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var whys []string
	for _, j := range read {
		whys = append(whys, fmt.Sprint(lang.Chinese.Why(j, &j.Status.Steps[0]), len(j.Status.Sentences)))
	}
	if want := []string{"w0", "一1", "多1", "w0", "一1"}; !slices.Equal(whys, want) {
		t.Errorf("%q, want %q", whys, want)
	}
}
