package learn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/tui/shell"
)

// draft is a lesson in the making, from a journey.
type draft struct {
	journey *v1alpha1.Journey
	steps   []*v1alpha1.Step // the steps of the lesson, in the order of the journey
	stored  []byte           // the object's current state in the server; nil if there is none
	text    strings.Builder
}

// From makes a lesson from a journey, for a file of that name. It contains the request, a question for each chosen
// step that calls another one, expectations, and a block for the screen. Without chosen steps it takes the path from
// the handler down. stored is the current state of the request's object, or nil.
func From(j *v1alpha1.Journey, stored []byte, file string, chosen []string) (string, error) {
	j = j.DeepCopy()
	j.Texts(escape.Line) // captures are not trusted: their texts must not end a line of the lesson
	if j.IsInstall() || j.Status.Phase != v1alpha1.JourneyComplete || j.Spec.Verb == "watch" {
		return "", fmt.Errorf("journey %s is no request that was answered once: name another", j.Name)
	}
	d := &draft{journey: j, stored: stored}
	var err error
	if d.steps, err = d.choose(chosen); err != nil {
		return "", err
	}
	d.head(file)
	d.request()
	d.questions()
	d.expectations()
	d.rest()
	return d.text.String(), nil
}

func (d *draft) choose(names []string) (walk []*v1alpha1.Step, err error) {
	all := d.journey.Status.Steps
	if len(names) == 0 {
		return d.downward(), nil
	}
	var taken []string
	for i := range all {
		if _, known := steps.Lookup(all[i].ID); !known || slices.Contains(taken, all[i].ID) {
			continue
		}
		if taken = append(taken, all[i].ID); slices.Contains(names, all[i].ID) {
			walk = append(walk, &all[i])
		}
	}
	for _, name := range names {
		if !slices.Contains(taken, name) {
			return nil, fmt.Errorf("journey %s did not take the step %q; its steps are %s", d.journey.Name, name, strings.Join(taken, ", "))
		}
	}
	return walk, nil
}

// downward returns the path from the handler to the lowest layer. At each step it follows the call that leads lowest,
// and of several the one that took longest.
func (d *draft) downward() (way []*v1alpha1.Step) {
	all := d.journey.Status.Steps
	lowest := lowestBelow(all)
	at := slices.IndexFunc(all, func(s v1alpha1.Step) bool { return s.Layer == steps.LayerHandler.String() && !steps.InfoOf(s.ID).Fine })
	for at >= 0 {
		way = append(way, &all[at])
		next := -1
		for i := range all {
			if _, known := steps.Lookup(all[i].ID); !known || int(all[i].Parent) != at || i <= at || steps.InfoOf(all[i].ID).Fine {
				continue
			}
			if next < 0 || cmp.Or(cmp.Compare(lowest[i], lowest[next]), cmp.Compare(all[i].TookNanos, all[next].TookNanos)) > 0 {
				next = i
			}
		}
		at = next
	}
	return way
}

// lowestBelow returns for each step the lowest layer that it or a step below it is in, as an index of the layers.
func lowestBelow(all []v1alpha1.Step) []int {
	lowest := make([]int, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		lowest[i] = max(lowest[i], slices.Index(steps.Layers(), all[i].Layer))
		if parent := int(all[i].Parent); parent >= 0 && parent < i {
			lowest[parent] = max(lowest[parent], lowest[i])
		}
	}
	return lowest
}

var notInID = regexp.MustCompile(`[^a-z0-9]+`)

func (d *draft) head(file string) {
	id := strings.Trim(notInID.ReplaceAllString(strings.ToLower(strings.TrimSuffix(filepath.Base(file), ".md")), "-"), "-")
	spec := d.journey.Spec
	asked, _, _ := strings.Cut(spec.URI, "?")
	fmt.Fprintf(&d.text, "---\nid: %s\ntitle: %q\nminutes: 5\n", id, escape.Line(spec.Method+" "+asked))
	if d.took(steps.LayerCacher) && !d.took(steps.LayerEtcd3) {
		d.text.WriteString("serve: [--watch-cache-prefill]\n") // without it a new server's cache is empty, and etcd answers
	}
	rest := slices.IndexFunc(d.steps, func(s *v1alpha1.Step) bool { return s.Layer == steps.LayerREST.String() })
	if rest >= 0 && d.journey.Status.Code < 400 {
		broken := filter.Compose("step", d.steps[rest].ID, "resource", spec.Resource)
		fmt.Fprintf(&d.text, "mutation:\n  of: ask\n  fault: {effect: Fail, code: 500, filter: %q}\n", broken)
	}
	fmt.Fprintf(&d.text, `---
<!-- Made from journey %s. Change the title, the text, the wrong answers and the sentences: docs/learn/README.md describes all blocks. -->

# %s

Say in two sentences what the question is.

`, d.journey.Name, escape.Line(spec.Method+" "+asked))
}

// took reports whether the request took a step of the layer, apart from fine details.
func (d *draft) took(layer steps.Layer) bool {
	return slices.ContainsFunc(d.journey.Status.Steps,
		func(s v1alpha1.Step) bool { return s.Layer == layer.String() && !steps.InfoOf(s.ID).Fine })
}

// request writes the setup and the request.
func (d *draft) request() {
	spec := d.journey.Spec
	if spec.Name != "" && spec.Method != http.MethodPost && d.journey.Status.Code < 400 {
		asked, _, _ := strings.Cut(spec.URI, "?")
		collection := path.Dir(strings.TrimSuffix(asked, "/"+spec.Subresource))
		before := d.object(func(s *v1alpha1.Step) *runtime.RawExtension { return s.Before })
		if before == "" {
			before = own(d.stored)
		}
		d.block("run id=before", d.send("create", collection, before))
	}
	options := ""
	if d.journey.Status.Code >= 400 {
		options = " fails"
	}
	var command string
	switch sent := d.object(func(s *v1alpha1.Step) *runtime.RawExtension { return s.After }); spec.Method {
	case http.MethodGet:
		command = "kx get --raw " + shell.Quote(spec.URI)
	case http.MethodDelete:
		command = "kx delete --raw " + shell.Quote(spec.URI)
	case http.MethodPost:
		command = d.send("create", spec.URI, sent)
	case http.MethodPut:
		command = d.send("replace", spec.URI, sent)
	default:
		const patch = "# A journey does not have the patch: write the command that sends it.\nkx patch %s %s --type merge -p '{}'"
		command = fmt.Sprintf(patch, shell.Quote(spec.Resource), shell.Quote(spec.Name))
	}
	d.block("run id=ask"+options, command)
}

func (d *draft) block(head, body string) { fmt.Fprintf(&d.text, "```%s\n%s\n```\n\n", head, body) }

// object returns the request's object at the first step that has it, or "".
func (d *draft) object(of func(*v1alpha1.Step) *runtime.RawExtension) string {
	for i := range d.journey.Status.Steps {
		if o := of(&d.journey.Status.Steps[i]); o != nil {
			if text := own(o.Raw); text != "" {
				return text
			}
		}
	}
	return ""
}

// own returns an object without the fields that the server sets, or "" if data is no object.
func own(data []byte) string {
	var u unstructured.Unstructured
	if json.Unmarshal(data, &u.Object) != nil || u.GetKind() == "" {
		return ""
	}
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	data, err := json.Marshal(u.Object)
	if err != nil {
		return ""
	}
	return string(data)
}

func (d *draft) send(verb, uri, object string) string {
	if object == "" {
		const lacks = "# The journey has no object (kx records them with --trace): write the one that is sent.\n"
		return lacks + "kx " + verb + " --raw " + shell.Quote(uri) + " -f object.json"
	}
	return shell.Heredoc("kx "+verb+" --raw "+shell.Quote(uri)+" -f -", object)
}

// question asks for the call of a step. The position of the right answer differs between questions.
type question struct {
	id      string
	step    string
	answers []string
	right   int // from 1
}

// questionList returns a question for each chosen step that calls the next one.
func (d *draft) questionList() (all []question) {
	for i := 1; i < len(d.steps); i++ {
		caller, called := d.steps[i-1], d.steps[i]
		if at := int(called.Parent); at < 0 || at >= len(d.journey.Status.Steps) || &d.journey.Status.Steps[at] != caller {
			continue
		}
		q := question{id: fmt.Sprintf("next-%d", len(all)+1), step: caller.ID, answers: d.wrong(called), right: len(all)%3 + 1}
		q.answers = slices.Insert(q.answers, min(q.right-1, len(q.answers)), steps.InfoOf(called.ID).Title)
		all = append(all, q)
	}
	return all
}

// wrong returns the titles of two steps that the request did not take, if possible from the layer of the right one.
func (d *draft) wrong(right *v1alpha1.Step) (titles []string) {
	taken := func(id string) bool {
		return slices.ContainsFunc(d.journey.Status.Steps, func(s v1alpha1.Step) bool { return s.ID == id })
	}
	for _, same := range []bool{true, false} {
		for _, id := range steps.All() {
			info := id.Info()
			if len(titles) < 2 && (info.Layer.String() == right.Layer) == same && !info.Fine && !taken(id.String()) {
				titles = append(titles, info.Title)
			}
		}
	}
	return titles
}

func (d *draft) questions() {
	for _, q := range d.questionList() {
		lines := []string{fmt.Sprintf("%s runs. What does it call?", q.step)}
		for i, answer := range q.answers {
			lines = append(lines, fmt.Sprintf("%d. %s", i+1, answer))
		}
		d.block(fmt.Sprintf("predict id=%s answer=%d", q.id, q.right), strings.Join(lines, "\n"))
	}
}

// term returns the filter that finds the request among those of the run.
func (d *draft) term() string {
	spec := d.journey.Spec
	resource := spec.Resource
	if spec.Subresource != "" {
		resource += "/" + spec.Subresource
	}
	return filter.Compose("verb", spec.Verb, "resource", resource, "name", spec.Name)
}

func (d *draft) expectations() {
	first := []string{"1 " + d.term() + fmt.Sprintf(" code:%d", d.journey.Status.Code)}
	if len(d.steps) > 1 {
		ids := make([]string, len(d.steps))
		for i, s := range d.steps {
			ids[i] = s.ID
		}
		first = append(first, "1 "+d.term()+" ("+strings.Join(ids, " -> ")+")")
	}
	reasons := server.Reasons()
	for _, s := range d.steps {
		// It is chance whether a cache was up to date when a list was requested.
		if s.Reason == nil || s.ID == steps.CacherList.String() {
			continue
		}
		if _, known := reasons.Reason(s.Reason.Kind); known {
			first = append(first, "1 "+d.term()+" step("+s.ID+" reason:"+s.Reason.Kind+")")
		}
	}
	d.block("expect of=ask", strings.Join(first, "\n"))
	for _, q := range d.questionList() {
		called := d.steps[slices.IndexFunc(d.steps, func(s *v1alpha1.Step) bool { return s.ID == q.step })+1]
		d.block("expect of=ask reveal="+q.id, "1 "+d.term()+" ("+q.step+" -> "+called.ID+")")
	}
}

// rest writes the blocks for the screen, and the steps whose functions are worth reading.
func (d *draft) rest() {
	for i, s := range d.steps {
		say := steps.InfoOf(s.ID).Title + "."
		switch {
		case s.Why != "":
			say = s.Why + "."
		case i < len(d.steps)-1:
			continue
		}
		d.block("show of=ask", "open "+d.term()+"\nstep "+s.ID+"\nsay "+say)
	}
	var ids []string
	for _, s := range d.steps[max(0, len(d.steps)-3):] {
		ids = append(ids, s.ID)
	}
	d.text.WriteString("## Afterwards\n\nThree functions worth reading:\n\n")
	d.block("read of=ask", strings.Join(ids, "\n"))
}
