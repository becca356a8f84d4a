package story

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/core/steps"
)

// Box is a part of the way from a client to etcd.
type Box uint8

// The boxes, in the order in which a request meets them.
const (
	Client Box = iota
	Filters
	Handler
	Admission
	REST
	Store
	Cacher
	Etcd
	boxes
)

// boxNames are the names of the boxes, by Box.
var boxNames = [boxes]string{"client", "filters", "handler", "admission", "REST", "Store", "cacher", "etcd"}

// Boxes are all boxes, in their order.
func Boxes() []Box { return []Box{Client, Filters, Handler, Admission, REST, Store, Cacher, Etcd} }

// Name is the name of the box.
func (b Box) Name(in lang.Language) string { return in.Text(boxNames[b]) }

// boxOf maps the layers to boxes.
var boxOf = map[string]Box{
	steps.LayerFilter.String(): Filters, steps.LayerHandler.String(): Handler, steps.LayerREST.String(): REST,
	steps.LayerStore.String(): Store, steps.LayerDryRun.String(): Store, steps.LayerCacher.String(): Cacher,
	steps.LayerEtcd3.String(): Etcd, steps.LayerTransform.String(): Etcd, steps.LayerEtcd.String(): Etcd,
}

// Stop is a place at which a walk stops: a line of the story, and where it is.
type Stop struct {
	Line
	Box Box
	// Code is the index of the step whose line of code decided what the sentence says; -1 if it is about the request as
	// a whole. Of filters that let it pass it is the authorization.
	Code int
	// Decided says that the outcome of the request was decided here.
	Decided bool
	// Carried says what the request brought to the stop, and Back what the step returned. An unknown one is empty.
	Carried, Back string
}

// Walk is the way of a request through the boxes.
type Walk struct {
	Journey *v1alpha1.Journey
	Stops   []Stop
	// Touched says for each box whether the request was there.
	Touched [boxes]bool
}

// WalkOf makes the walk of a journey: from the client to where it was answered and back. Of the steps it has those that
// crossed a border between boxes, asked etcd, or decided. others are as for [Tell].
func WalkOf(j *v1alpha1.Journey, in lang.Language, others ...*v1alpha1.Journey) *Walk {
	w := newWalker(j, in)
	w.walk(refusal.Explain(j, others, in))
	return &w.Walk
}

func newWalker(j *v1alpha1.Journey, in lang.Language) *walker {
	w := &walker{teller: *newTeller(j, in), Walk: Walk{Journey: j}, decided: Decided(j), admits: make([]bool, len(j.Status.Steps))}
	w.body = slices.IndexFunc(j.Status.Steps, func(s v1alpha1.Step) bool {
		return steps.InfoOf(s.ID).Object.Input != steps.NoInput
	})
	if refused := refusal.Step(j); refused >= 0 {
		w.decided = refused
	}
	taken := j.Status.Steps
	for i := range taken {
		parent := int(taken[i].Parent)
		w.admits[i] = isAdmission[taken[i].ID] || parent >= 0 && parent < i && w.admits[parent]
	}
	return w
}

// Decided returns the index of the step that decided: of a read, between the watch cache and etcd; of a write, whether
// etcd takes it, or that it is a dry run. Without one it returns -1.
func Decided(j *v1alpha1.Journey) int {
	taken := j.Status.Steps
	switch j.Spec.Verb {
	case "get", "list", "watch":
		return slices.IndexFunc(taken, func(s v1alpha1.Step) bool { return s.Layer == steps.LayerCacher.String() && s.Why != "" })
	}
	for i := len(taken) - 1; i >= 0; i-- {
		if taken[i].ID == steps.EtcdTxn.String() || isDryRun(&taken[i]) {
			return i
		}
	}
	return -1
}

// reasonNotDryRun is the one reason for which the dry run layer passes a write on.
const reasonNotDryRun = "not-dry-run"

// isDryRun says whether a step stopped a write because that is a dry run. Steps of reads have no reason there.
func isDryRun(s *v1alpha1.Step) bool {
	return s.Layer == steps.LayerDryRun.String() && s.Reason != nil && s.Reason.Kind != reasonNotDryRun
}

// walker makes one walk.
type walker struct {
	teller
	Walk
	decided int
	// body is the step that read the body of the request; -1 without one.
	body int
	// admits says of each step whether it is admission, or works for it.
	admits []bool
}

func (w *walker) walk(card *refusal.Card) {
	if !w.j.IsInstall() {
		w.stop(Client, w.bodyText(), "", func() { w.add(-1, 0, false, w.tellRequest()) })
	}
	taken := w.j.Status.Steps
	for i := 0; i < len(taken); i++ {
		box := w.box(i)
		w.Touched[box] = true
		if w.times[i] == 0 {
			continue
		}
		if n := w.countPassed(i); n > 1 {
			w.stop(box, w.bodyText(), "", func() { w.filters(i, n) })
			for k := range n {
				if taken[i+k].ID == steps.FilterAuthorization.String() {
					w.Stops[len(w.Stops)-1].Code = i + k
				}
			}
			i += n - 1
		} else if w.stops(i) {
			w.stop(box, w.carried(i), w.back(i), func() { w.step(i) })
			w.Stops[len(w.Stops)-1].Decided = i == w.decided
		}
	}
	w.stop(Client, "", w.outcome(card), w.tellAnswer)
}

// stop adds a stop with the sentence that tell adds to the story.
func (w *walker) stop(at Box, carried, back string, tell func()) {
	w.Touched[at] = true
	tell()
	told := w.lines[len(w.lines)-1]
	w.Stops = append(w.Stops, Stop{Line: told, Box: at, Code: told.Step, Carried: escape.Line(carried), Back: escape.Line(back)})
}

// isAdmission are the steps of admission. They are in the layer of the handler, which asks for it.
var isAdmission = map[string]bool{
	steps.HandlerMutate.String(): true, steps.HandlerAdmit.String(): true, steps.HandlerValidate.String(): true,
	steps.HandlerApprove.String(): true, steps.HandlerWebhook.String(): true, steps.HandlerPolicy.String(): true,
}

// box is the box of a step. What a plugin of admission asks of others is admission.
func (w *walker) box(i int) Box {
	if w.admits[i] {
		return Admission
	}
	return boxOf[w.j.Status.Steps[i].Layer]
}

// decides reports whether something was decided at a step, or the request is held there.
func (w *walker) decides(i int) bool {
	s := &w.j.Status.Steps[i]
	switch {
	case i == w.decided, slices.ContainsFunc(w.j.Status.Held, func(h v1alpha1.HeldStep) bool { return int(h.Step) == i }):
		return true
	case s.ID == steps.HandlerWebhook.String(), s.ID == steps.HandlerPolicy.String():
		return true
	}
	return w.admits[i] && s.ID != steps.HandlerManagedFields.String() && blame.CountChanges(s) > 0
}

// stops reports whether the walk stops at a step.
func (w *walker) stops(i int) bool {
	s := &w.j.Status.Steps[i]
	switch {
	case w.decides(i):
		return true
	case steps.InfoOf(s.ID).Fine, s.ID == steps.HandlerManagedFields.String():
		return false
	case !w.admits[i] && s.Layer == steps.LayerEtcd.String():
		return true
	}
	from := Filters
	if parent := int(s.Parent); parent >= 0 && parent < i {
		from = w.box(parent)
	}
	return w.box(i) != from
}

// bodyText says what came with the request.
func (w *walker) bodyText() string {
	if w.body >= 0 {
		s := &w.j.Status.Steps[w.body]
		if n := s.Attribute("bytes"); n != "" {
			return w.language.Phrase("a body of %s bytes, %s", n, cmp.Or(w.j.Spec.ContentType, s.Attribute("mediaType"), "-"))
		}
	}
	if w.j.Spec.ContentType != "" {
		return w.language.Phrase("a body, %s", w.j.Spec.ContentType)
	}
	return w.language.Phrase("no body: its path says all")
}

// carried says what the request brought to a step: the object as it was then, or what the step was about.
func (w *walker) carried(i int) string {
	taken := w.j.Status.Steps
	s := &taken[i]
	if compare, condition := s.Attribute("compare"), s.Attribute("condition"); condition != "" {
		return w.language.Phrase("if %s and %s, then %s", compare, condition, cmp.Or(s.Attribute("success"), "-"))
	} else if compare != "" {
		return w.language.Phrase("if %s, then %s", compare, cmp.Or(s.Attribute("success"), "-"))
	}
	if w.body < 0 && s.Before == nil {
		return s.Subject
	}
	if i <= w.body {
		return w.bodyText()
	}
	if s.Before != nil {
		return cmp.Or(w.identity(s.Before.Raw), s.Subject)
	}
	for k := i - 1; k >= 0 && w.body >= 0; k-- {
		if a := taken[k].After; a != nil && !w.admits[k] {
			return cmp.Or(w.identity(a.Raw), s.Subject)
		}
	}
	return s.Subject
}

// identity says which object it is, at which revision.
func (w *walker) identity(raw []byte) string {
	var o struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Namespace, Name, ResourceVersion string
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &o) != nil || o.Kind == "" {
		return ""
	}
	what := o.Kind + " " + strings.TrimPrefix(o.Metadata.Namespace+"/"+o.Metadata.Name, "/")
	if o.Metadata.ResourceVersion == "" {
		return w.language.Phrase("%s, of no revision", what)
	}
	return w.language.Phrase("%s, of revision %s", what, o.Metadata.ResourceVersion)
}

// inputs are attributes that say what a step was asked, not what came of it.
var inputs = map[string]bool{"compare": true, "condition": true, "success": true, "failure": true, "mediaType": true, "attempt": true,
	"timeout": true}

// back says what came of a step.
func (w *walker) back(i int) string {
	taken := w.j.Status.Steps
	s := &taken[i]
	switch {
	case w.failsBelow(i):
		return w.language.Phrase("the error of a step further on")
	case s.Error != "": // the sentence says which
		return w.language.Phrase("the error, which goes up to the client")
	case s.TookNanos < 0:
		return w.language.Phrase("nothing yet")
	}
	var all []string
	for _, a := range s.Attributes {
		if !inputs[a.Name] {
			all = append(all, a.Name+" "+a.Value)
		}
	}
	if n := blame.CountChanges(s); n > 0 {
		all = append(all, w.language.Phrase("%d changed fields", n))
	}
	if len(all) > 0 || w.admits[i] { // what admission read for itself is not what came back
		return strings.Join(all, ", ")
	}
	revision := ""
	for k := i + 1; k < len(taken) && int(taken[k].Parent) >= i; k++ {
		revision = cmp.Or(taken[k].Attribute("resourceVersion"), taken[k].Attribute("modRevision"), revision)
	}
	if revision == "" {
		return ""
	}
	return w.language.Phrase("revision %s", revision)
}

// outcome says what the client got: the object, or why not and what can be done.
func (w *walker) outcome(card *refusal.Card) string {
	if card != nil {
		var all []string
		for _, f := range card.Facts {
			if !f.Said { // else its stop says it
				all = append(all, w.grammar.fact(f.Name, f.Text))
			}
		}
		if card.Next != "" {
			all = append(all, w.grammar.advice(card.Next))
		}
		return strings.Join(all, " ")
	}
	for i := range w.j.Status.Steps {
		if s := &w.j.Status.Steps[i]; s.ID == steps.HandlerEncode.String() {
			return strings.TrimSpace(s.Subject + " " + s.Attribute("mediaType"))
		}
	}
	return ""
}

// codeLines is the number of lines of code at a stop.
const codeLines = 6

// CodeAround returns the few lines of a file around the one that decided, without their common indentation, and the
// number of the first. It returns none if there is no such line.
func CodeAround(text string, line int) (first int, code []string) {
	all := strings.Split(text, "\n")
	if line < 1 || line > len(all) {
		return 0, nil
	}
	from := max(min(line-codeLines/2, len(all)-codeLines+1), 1)
	code = slices.Clone(all[from-1 : min(from-1+codeLines, len(all))])
	tabs := -1
	for i, l := range code {
		if text := strings.TrimLeft(l, "\t"); text != "" && (tabs < 0 || len(l)-len(text) < tabs) {
			tabs = len(l) - len(text)
		}
		code[i] = strings.TrimRight(l, " \t\r")
	}
	for i, l := range code {
		code[i] = escape.Line(strings.ReplaceAll(l[min(max(tabs, 0), len(l)):], "\t", "    "))
	}
	return from, code
}
