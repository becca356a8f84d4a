package detail

import (
	"strconv"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/screen"
)

// etcdLayer is the layer of the steps that call etcd.
var etcdLayer = steps.LayerEtcd.String()

// etcd lists the requests to etcd of a step and of the steps below it; if there are none, those of the whole request.
func (b *builder) etcd(j *v1alpha1.Journey, i int) {
	asked := asksBelow(j.Status.Steps, i)
	if len(asked) == 0 {
		if asked = asksBelow(j.Status.Steps, -1); len(asked) == 0 {
			b.add(label, "the request did not ask etcd: all that it read was in memory")
			return
		}
		b.add(label, "this step did not ask etcd; the request did:")
	}
	for n, at := range asked {
		if n > 0 {
			b.blank()
		}
		b.ask(j, at, at == i)
	}
}

// asksBelow returns the steps that called etcd: among the i-th and those below it, or among all if i is -1.
func asksBelow(taken []v1alpha1.Step, i int) []int {
	var asked []int
	for n := max(i, 0); n < len(taken); n++ {
		if taken[n].Layer == etcdLayer && (i < 0 || within(taken, n, i)) {
			asked = append(asked, n)
		}
	}
	return asked
}

// ask writes a step's request to etcd, and the answer.
func (b *builder) ask(j *v1alpha1.Journey, i int, here bool) {
	s := &j.Status.Steps[i]
	first := len(b.lines)
	b.add(notice, number(j, i)+"  "+b.words.Text(s.Title))
	if !here {
		b.lead(first, toStep(i))
	}
	said := map[string]string{}
	for _, a := range s.Attributes {
		said[a.Name] = a.Value
	}
	if said["compare"] != "" {
		b.transaction(s, said)
	} else {
		b.request(s, said)
	}
	b.fact("why", plain, b.words.Why(j, s))
	b.fact("error", bad, s.Error)
	took := b.words.Phrase("not answered yet")
	if s.TookNanos >= 0 {
		took = draw.Duration(time.Duration(s.TookNanos))
	}
	b.fact("took", plain, took)
}

// transaction writes a transaction in etcd's form.
func (b *builder) transaction(s *v1alpha1.Step, said map[string]string) {
	b.fact("IF", plain, said["compare"])
	if said["condition"] != "" {
		b.fact("IF", plain, said["condition"])
	}
	b.fact("THEN", plain, said["success"])
	otherwise := said["failure"]
	if otherwise == "" {
		otherwise = b.words.Phrase("nothing")
	}
	b.fact("ELSE", plain, otherwise)
	switch key, revision, ok := blame.StepWrite(s); {
	case ok:
		b.factTo("written", good, b.words.Phrase("revision %d", revision), linkTo(screen.ToKey{Key: key, Revision: revision}))
	case said["modRevision"] != "":
		current, _ := strconv.ParseInt(said["modRevision"], 10, 64)
		b.factTo("refused", bad, b.words.Phrase("the key is at revision %s, %s bytes; etcd is at %s",
			said["modRevision"], said["bytes"], said["revision"]),
			linkTo(screen.ToKey{Key: s.Subject, Revision: current}))
	case said["revision"] != "":
		b.fact("refused", bad, b.words.Phrase("etcd is at revision %s", said["revision"]))
	}
}

// request writes any other request: its key or range, its parameters, and the answer.
func (b *builder) request(s *v1alpha1.Step, said map[string]string) {
	revision, _ := strconv.ParseInt(said["modRevision"], 10, 64)
	if s.Subject != "" {
		b.factTo("key", plain, s.Subject, linkTo(screen.ToKey{Key: s.Subject, Revision: revision}))
	}
	names := make([]string, 0, len(s.Attributes))
	for _, a := range s.Attributes {
		names = append(names, a.Name+" "+a.Value)
	}
	b.fact("response::answer", plain, strings.Join(names, ", "))
}
