package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/session"
)

// namesTried limits the names that Add tries for a new rule.
const namesTried = 100

// Add makes a rule of the user, and switches it on. It returns the rule's name.
func (c *Control) Add(ctx context.Context, spec Spec) (Key, error) {
	var err error
	for range namesTried {
		key := c.freeName(spec.sort())
		if err = c.create(ctx, key, spec); api.Code(err) != http.StatusConflict {
			return key, err
		}
		// Another client has a rule of that name, which has not arrived here yet: try the next name.
		c.mu.Lock()
		if _, there := c.rules[key]; !there {
			c.rules[key] = Rule{Key: key, On: true}
		}
		c.mu.Unlock()
	}
	return Key{}, fmt.Errorf("find a name for a rule: %w", err)
}

// MadeBySend records that the screen Send made a breakpoint to hold one request.
func (c *Control) MadeBySend(breakpoint string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sent) < objectsMost {
		c.sent[Key{Breakpoint, breakpoint}] = true
	}
	c.tellChanged()
}

// freeName returns the first unused name of b1, b2 and so on, or of f1, f2.
func (c *Control) freeName(kind Kind) Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := 1; ; n++ {
		key := Key{kind, fmt.Sprintf("%c%d", kind[0], n)}
		if _, taken := c.rules[key]; !taken && c.own[key] == nil {
			return key
		}
	}
}

// create makes a rule on the server. It belongs to the user from then on.
func (c *Control) create(ctx context.Context, key Key, spec Spec) error {
	sent := spec
	if b := spec.Breakpoint; b != nil && b.LeaseSeconds == 0 {
		leased := *b
		leased.LeaseSeconds = leaseSeconds
		sent.Breakpoint = &leased
	}
	var made struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	err := c.api.Create(ctx, key.collection(), sent.object(key.Name), &made)
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.own[key]
	if err != nil {
		if own != nil {
			own.note = Reason(err)
			c.tellChanged()
		}
		return err
	}
	if own == nil {
		own = &ownRule{}
		c.own[key] = own
	}
	c.made++
	own.spec, own.on, own.uid, own.made, own.note = spec, true, made.Metadata.UID, c.made, ""
	c.tellChanged()
	return nil
}

// Reason returns the server's reason for an error, without the description of the request.
func Reason(err error) string {
	text := api.Reason(err)
	for _, before := range []string{" is forbidden: ", " is invalid: "} {
		if _, why, ok := strings.Cut(text, before); ok {
			return why
		}
	}
	return text
}

// deleteRule deletes a rule on the server. A rule that is not there counts as deleted.
func (c *Control) deleteRule(ctx context.Context, key Key) error {
	c.mu.Lock()
	own := c.own[key]
	if own != nil {
		own.on, own.wanted, own.note = false, false, ""
	}
	c.mu.Unlock()
	if err := c.api.Delete(ctx, key.path()); err != nil && api.Code(err) != http.StatusNotFound {
		c.mu.Lock()
		defer c.mu.Unlock()
		if own != nil {
			own.on = true
		}
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.rules, key)
	c.tellChanged()
	return nil
}

// Switch switches a rule on or off. Switching off another client's rule keeps a copy as the user's own, so that the
// user can switch it on again.
func (c *Control) Switch(ctx context.Context, r Rule, on bool) error {
	if on {
		return c.create(ctx, r.Key, r.Spec)
	}
	c.mu.Lock()
	if c.own[r.Key] == nil {
		c.own[r.Key] = &ownRule{spec: r.Spec, status: r.Status}
	}
	c.mu.Unlock()
	return c.deleteRule(ctx, r.Key)
}

// Delete deletes a rule, which releases the requests that it holds.
func (c *Control) Delete(ctx context.Context, key Key) error {
	if err := c.deleteRule(ctx, key); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.own, key)
	c.tellChanged()
	return nil
}

// Replace changes a rule. A rule that is off is only changed here. The server's rules are immutable, so it deletes
// the rule and makes a new one, which releases held requests. If the server refuses the new rule, the old one comes
// back.
func (c *Control) Replace(ctx context.Context, old Rule, spec Spec) error {
	if !old.On {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.own[old.Key] = &ownRule{spec: spec}
		c.tellChanged()
		return nil
	}
	if err := c.check(ctx, spec); err != nil {
		return err
	}
	if err := c.deleteRule(ctx, old.Key); err != nil {
		return err
	}
	err := c.create(ctx, old.Key, spec)
	if err == nil {
		return nil
	}
	return errors.Join(err, c.create(ctx, old.Key, old.Spec))
}

// check asks the server, with a dry run, whether it would accept a rule.
func (c *Control) check(ctx context.Context, spec Spec) error {
	const name = "kx-tui-may-it"
	err := c.api.Create(ctx, Key{Kind: spec.sort()}.collection()+"?dryRun=All", spec.object(name), nil)
	if api.Code(err) == http.StatusConflict {
		return nil // another client checks with the same name, so it is allowed to
	}
	return err
}

// askAllowed checks which kinds of rules the server accepts from the user.
func (c *Control) askAllowed(ctx context.Context) {
	for _, spec := range []Spec{
		{Breakpoint: &v1alpha1.BreakpointSpec{Filter: "verb:*"}},
		{Fault: &v1alpha1.FaultSpec{Effect: v1alpha1.FaultDropWatch}},
	} {
		why := ""
		if err := c.check(ctx, spec); api.Code(err) == http.StatusForbidden {
			why = switchedBy(Reason(err))
		}
		c.mu.Lock()
		c.refused[spec.sort()] = why
		c.tellChanged()
		c.mu.Unlock()
	}
}

// switchedBy adds the key that switches on what a server says is off.
func switchedBy(why string) string {
	if strings.Contains(why, "kx trace record") {
		why += "; here " + keys.Record.Key() + " does"
	}
	return why
}

// onConnect checks the user's permissions, and switches on the rules that wait for the server.
func (c *Control) onConnect(ctx context.Context) {
	c.askAllowed(ctx)
	c.mu.Lock()
	wanted := map[Key]Spec{}
	for key, own := range c.own {
		if own.wanted {
			wanted[key], own.wanted = own.spec, false
		}
	}
	c.mu.Unlock()
	for key, spec := range wanted {
		_ = c.create(ctx, key, spec) // its note says why not
	}
}

// Tell sends a command to a held request. It returns the journey once it is held again or has ended, or after a
// second.
func (c *Control) Tell(ctx context.Context, id string, spec v1alpha1.JourneyCommandSpec) (*v1alpha1.Journey, error) {
	var j v1alpha1.Journey
	err := c.api.Create(ctx, heldPath+"/"+url.PathEscape(id)+"/step",
		&v1alpha1.JourneyCommand{TypeMeta: typeMeta("JourneyCommand"), Spec: spec}, &j)
	if err != nil {
		return nil, err
	}
	session.Clean(&j)
	return &j, nil
}

// ContinueAll continues all held requests, and returns their number.
func (c *Control) ContinueAll(ctx context.Context) (n int, err error) {
	for _, j := range c.View().Held {
		for _, h := range j.Status.Held {
			_, err := c.Tell(ctx, j.Name, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionContinue, Step: &h.Step})
			switch {
			case err == nil:
				n++
			case api.Code(err) != http.StatusConflict: // it went on by itself
				return n, err
			}
		}
	}
	return n, nil
}

// Steal makes another writer commit before a held request does: it changes an annotation of the request's object.
func (c *Control) Steal(ctx context.Context, j *v1alpha1.Journey) error {
	method, path, contentType, body, ok := v1alpha1.Steal(j)
	if !ok {
		return errors.New("only a request about one object that is there can lose its revision")
	}
	return c.api.JSON(ctx, api.Request{
		Method: method, Path: path, Body: body,
		Header: http.Header{"Content-Type": {contentType}, "Kx-Hold": {"off"}},
	}, nil)
}

// Compact compacts etcd, and returns the revision of the compaction.
func (c *Control) Compact(ctx context.Context) (int64, error) {
	var done v1alpha1.Compaction
	err := c.api.Create(ctx, api.KX+"/compactions", &v1alpha1.Compaction{TypeMeta: typeMeta("Compaction")}, &done)
	return done.Status.Revision, err
}
