package detail

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/draw"
)

// builder makes the lines of a tab, wrapped to a width.
type builder struct {
	w     int
	lines []text
}

func (b *builder) add(k kind, s string) {
	for _, line := range draw.Wrap(s, b.w) {
		b.lines = append(b.lines, text{kind: k, text: line})
	}
}

func (b *builder) blank() { b.lines = append(b.lines, text{}) }

// nameWidth is how wide the names of facts are.
const nameWidth = 11

// fact is a name and what it has, if it has something.
func (b *builder) fact(name string, k kind, value string) {
	if value != "" {
		b.pair(name, nameWidth, k, value)
	}
}

// pair is a name in w cells and a value beside it.
func (b *builder) pair(name string, w int, k kind, value string) {
	name = draw.Fit(name, w-1) + " "
	for _, line := range draw.Wrap(value, max(b.w-w, 1)) {
		b.lines = append(b.lines, text{kind: k, name: name, text: line})
		name = strings.Repeat(" ", w)
	}
}

// attributesWidth bounds how wide the names of attributes are.
const attributesWidth = 24

func (b *builder) attributes(all []v1alpha1.Attribute) {
	w := nameWidth
	for _, a := range all {
		w = min(max(w, draw.Width(a.Name)+1), attributesWidth)
	}
	for _, a := range all {
		b.pair(a.Name, w, plain, a.Value)
	}
}

func (b *builder) step(s *v1alpha1.Step) {
	b.add(notice, s.Title)
	b.fact("about", plain, s.Subject)
	b.fact("why", plain, s.Why)
	b.fact("error", bad, s.Error)
	took := "still running"
	if s.TookNanos >= 0 {
		took = draw.Duration(time.Duration(s.TookNanos))
	}
	b.fact("took", plain, took+", from "+draw.Duration(time.Duration(s.StartMicros)*time.Microsecond)+" on")
	if len(s.Attributes) > 0 {
		b.blank()
		b.add(label, "what went in and came out")
		b.attributes(s.Attributes)
	}
	b.blank()
	b.add(label, "in this binary")
	b.fact("function", plain, s.Function)
	if s.File != "" {
		b.fact("file", plain, s.File+":"+strconv.Itoa(int(s.Line)))
	}
	b.blank()
	b.add(label, "in the Kubernetes API server")
	b.fact("function", plain, s.Upstream)
	if s.UpstreamFile != "" {
		b.fact("file", plain, s.UpstreamFile)
	}
}

// howToRecord says what to do where there are no objects.
const howToRecord = "objects were not recorded: send the request with the header  Kx-Trace: objects"

func (b *builder) diff(j *v1alpha1.Journey, index int, all bool) {
	s := &j.Status.Steps[index]
	switch {
	case s.Before == nil && s.After == nil && j.Status.Level != "Objects":
		b.add(notice, howToRecord)
		return
	case s.Before == nil && s.After == nil:
		b.add(label, "This step changes no object.")
		b.changers(j)
		return
	case s.Before == nil:
		b.add(label, "the object that came out of this step")
		b.objects(s.After.Raw, s.After.Raw, true)
		return
	case s.After == nil:
		b.add(label, "the object that went into this step; none came out")
		b.objects(s.Before.Raw, s.Before.Raw, true)
		return
	}
	b.objects(s.Before.Raw, s.After.Raw, all)
}

// changers lists the steps that have objects.
func (b *builder) changers(j *v1alpha1.Journey) {
	title := "Those that do, or show one:"
	for i := range j.Status.Steps {
		s := &j.Status.Steps[i]
		if s.Before == nil && s.After == nil {
			continue
		}
		if title != "" {
			b.blank()
			b.add(label, title)
			title = ""
		}
		b.pair("  "+s.ID, attributesWidth, plain, s.Title)
	}
}

func (b *builder) objects(before, after []byte, all bool) {
	lines, changed, err := diff.Objects(before, after, all)
	if err != nil {
		b.add(bad, err.Error())
		return
	}
	if string(before) != string(after) {
		b.add(label, fields(changed))
	}
	for _, l := range lines {
		k := map[byte]kind{'+': good, '-': bad}[l.Mark]
		b.lines = append(b.lines, text{kind: k, text: string(l.Mark) + " " + strings.Repeat("  ", l.Depth) + l.Text})
	}
}

func fields(n int) string {
	switch n {
	case 0:
		return "no field changed"
	case 1:
		return "1 field changed"
	}
	return fmt.Sprintf("%d fields changed", n)
}

func (b *builder) request(j *v1alpha1.Journey, sameAs string) {
	s, st := &j.Spec, &j.Status
	b.add(notice, s.Method+" "+s.URI)
	answer := "none yet"
	switch {
	case st.Code != 0:
		answer = fmt.Sprintf("%d, %d bytes", st.Code, st.Bytes)
	case st.Phase == v1alpha1.JourneyComplete:
		answer = "none: the client was gone"
	}
	b.fact("answer", plain, answer)
	took := "still running"
	if st.Phase == v1alpha1.JourneyComplete {
		took = draw.Duration(time.Duration(st.TookMicros) * time.Microsecond)
	}
	b.fact("took", plain, took)
	b.fact("came in", plain, st.Started.UTC().Format("2006-01-02 15:04:05.000000")+" UTC")
	b.fact("user", plain, s.User)
	b.fact("from", plain, s.SourceIP)
	b.fact("program", plain, s.UserAgent)
	b.fact("body", plain, s.ContentType)
	b.fact("journey", plain, j.Name)
	b.fact("audit ID", plain, s.AuditID)
	recorded := fmt.Sprintf("%d steps", len(st.Steps))
	if st.Level == "Objects" {
		recorded += ", with objects"
	}
	b.fact("recorded", plain, recorded)
	if st.Cut > 0 {
		b.fact("cut", bad, fmt.Sprintf("%d things were left out: the journey was full", st.Cut))
	}
	b.fact("same as", plain, sameAs)
	b.marks(j)
	b.deliveries(j)
}

// marks says what the watch cache did with the event that the request caused.
func (b *builder) marks(j *v1alpha1.Journey) {
	if len(j.Status.Marks) == 0 {
		return
	}
	b.blank()
	b.add(label, "what the watch cache did with the event that it caused")
	for _, m := range j.Status.Marks {
		b.pair("+"+draw.Duration(time.Duration(m.AfterMicros)*time.Microsecond), nameWidth, plain,
			fmt.Sprintf("%s  %s  at %d", m.ID, m.Title, m.Revision))
	}
}

// deliveries says who got the watch event that the request caused.
func (b *builder) deliveries(j *v1alpha1.Journey) {
	b.blank()
	if len(j.Status.Deliveries) == 0 {
		b.add(label, "no watcher of this server got an event that it caused")
		return
	}
	b.add(label, "who got the event that it caused")
	for _, d := range j.Status.Deliveries {
		b.pair("+"+draw.Duration(time.Duration(d.AfterMicros)*time.Microsecond), nameWidth, plain,
			fmt.Sprintf("%s at %d  to %s  %s  %s", d.Type, d.Revision, d.Watcher, d.User, d.UserAgent))
	}
}
