package refusal

import (
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// conflict explains a 409.
func (c *card) conflict() {
	s := c.step()
	switch {
	case is(s, reasonRevisionMoved):
		c.stale(s)
	case is(s, reasonOwnersConflict):
		c.explainOwners(s)
	case s != nil && (s.ID == steps.Etcd3Create.String() || c.lastStep(steps.Etcd3Create) != nil &&
		is(c.lastStep(steps.Etcd3Create), reasonCreateOverExisting)):
		c.explainExisting()
	default:
		c.explainError()
		c.Next = "read the object again: it is another one than the request meant, or another state of it"
	}
}

// stale explains that the client did not have the present state.
func (c *card) stale(s *v1alpha1.Step) {
	sent, has := number(s, "sent"), number(s, "revision")
	c.say("you sent", "revision %d", sent)
	_, key := c.storedKey()
	c.add(Fact{Name: "etcd has", Text: c.words.Phrase("revision %d", has), Key: key, Revision: has})
	writers := slices.DeleteFunc(slices.Clone(c.others), func(w *v1alpha1.Journey) bool {
		return w.Status.Revision <= sent || w.Status.Revision > has
	})
	for _, w := range writers {
		c.add(Fact{Name: "moved by", Text: c.words.Phrase("%s to revision %d, %s", c.describeWriter(w), w.Status.Revision, c.before(w)),
			Journey: w.Name})
	}
	if len(writers) == 0 {
		c.add(Fact{Name: "moved by", Text: c.words.Phrase("a request that is no longer known here: etcd has the revisions"), Key: key,
			Revision: has})
	}
	both := c.compare(s, writers, sent)
	switch {
	case both == nil:
		c.Next = "read the object again, make the change on what is there, and send that"
	case len(both) == 0:
		c.Next = "nobody else changed these fields: read the object again and make the same change, or send it as a patch"
	default:
		c.Next = "read the object again, decide about what both changed, and send that"
	}
}

// compare lists the changes of the client, of others, and of both. It returns the last, nil if they are unknown.
func (c *card) compare(s *v1alpha1.Step, writers []*v1alpha1.Journey, sent int64) []string {
	body := c.body()
	if body == nil || s.Before == nil {
		c.say("changes", "objects were not recorded: after  kx trace record  this card says what each changed")
		return nil
	}
	base := baseAt(writers, sent)
	if base == nil {
		c.changes("against it", s.Before.Raw, body)
		return nil
	}
	yours, theirs := c.changes("yours", base, body), c.changes("theirs", base, s.Before.Raw)
	both := []string{}
	for _, y := range yours {
		if slices.ContainsFunc(theirs, func(t string) bool { return isWithin(y, t) || isWithin(t, y) }) {
			both = append(both, y)
		}
	}
	if len(both) > 0 {
		c.say("both", "%s", strings.Join(both, ", "))
	}
	return both
}

// isWithin says whether a path is the other, or below it.
func isWithin(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// changesMost bounds how many changes a card lists.
const changesMost = 6

// changes lists the differences between two states, and returns their paths. Fields that the server maintains are
// left out.
func (c *card) changes(name string, before, after []byte) (paths []string) {
	fields, err := blame.Differences(before, after)
	if err != nil {
		return nil
	}
	for _, f := range fields {
		path := f.Path.String()
		if systems(f.Path) || path == "metadata.namespace" && f.After == "" { // the path of the request says it
			continue
		}
		paths = append(paths, path)
		if len(paths) <= changesMost {
			c.say(name, "%s: %s → %s", path, c.showValue(f.Before), c.showValue(f.After))
		}
	}
	switch more := len(paths) - changesMost; {
	case more > 0:
		c.say(name, "and %d more", more)
	case len(paths) == 0:
		c.say(name, "nothing but what the server keeps for itself")
	}
	return paths
}

// systems says whether a field is the server's own.
func systems(path blame.Path) bool {
	if len(path) < 2 {
		return path[0] == "kind" || path[0] == "apiVersion"
	}
	switch path[1] {
	case "managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink":
		return path[0] == "metadata"
	}
	return false
}

// shownMost bounds a value in a card.
const shownMost = 60

func (c *card) showValue(v string) string {
	switch r := []rune(v); {
	case v == "":
		return c.words.Phrase("nothing")
	case len(r) > shownMost:
		return string(r[:shownMost-1]) + "…"
	}
	return v
}

// body is the object that the client sent; nil if it was not recorded.
func (c *card) body() []byte {
	for i := range c.j.Status.Steps {
		if s := &c.j.Status.Steps[i]; s.ID == steps.HandlerDecode.String() && s.After != nil {
			return s.After.Raw
		}
	}
	return nil
}

// baseAt is the state at a revision: the one that the first of the writers changed. It is nil if that is not known.
func baseAt(writers []*v1alpha1.Journey, revision int64) []byte {
	if len(writers) == 0 {
		return nil
	}
	walk := writers[0].Status.Steps
	for i := len(walk) - 1; i >= 0; i-- {
		if s := &walk[i]; s.ID == steps.StoreTryUpdate.String() && s.Before != nil && number(s, "revision") == revision {
			return s.Before.Raw
		}
	}
	return nil
}

// storedKey is the key of the object in etcd, and the step that says so.
func (c *card) storedKey() (*v1alpha1.Step, string) {
	for _, id := range []steps.ID{steps.Etcd3Update, steps.Etcd3Create, steps.Etcd3Delete, steps.EtcdKeyRevision, steps.EtcdGet} {
		if s := c.lastStep(id); s != nil {
			return s, s.Subject
		}
	}
	return nil, ""
}

// explainOwners explains that a client applies what others own.
func (c *card) explainOwners(s *v1alpha1.Step) {
	c.say("applied as", "%s", s.Subject)
	for _, conflict := range strings.Split(s.Reason.Value("conflicts"), "; ") {
		c.say("owned", "%s", conflict)
	}
	c.Next = "leave these fields out, apply the values that they have, or take them over with --force-conflicts"
}

// explainExisting explains that the key to be created is there.
func (c *card) explainExisting() {
	_, key := c.storedKey()
	revision := number(c.lastStep(steps.EtcdKeyRevision), "modRevision")
	c.add(Fact{Name: "etcd has", Text: c.words.Phrase("the object already"), Key: key, Revision: revision})
	for _, w := range c.others {
		c.add(Fact{Name: "written by", Text: c.words.Phrase("%s, %s", c.describeWriter(w), c.before(w)), Journey: w.Name})
	}
	c.Next = "update or apply it, or have the server choose a name with metadata.generateName"
}

// describeWriter is a request and who sent it.
func (c *card) describeWriter(w *v1alpha1.Journey) string {
	agent, _, _ := strings.Cut(w.Spec.UserAgent, " ")
	if agent == "" {
		agent = w.Spec.User
	}
	return c.words.Phrase("request %s, %s of %s", w.Name, w.Spec.Verb, agent)
}
