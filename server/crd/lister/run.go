package lister

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/builtin"
)

// Run follows the definitions until ctx ends, and returns after the last call of a subscriber.
func (l *Lister) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { l.tell(ctx) })
	l.follow(ctx)
	running.Wait()
}

const (
	shortestPause = 50 * time.Millisecond
	longestPause  = 5 * time.Second
)

// follow lists and watches again and again.
func (l *Lister) follow(ctx context.Context) {
	pause := shortestPause
	for ctx.Err() == nil {
		revision, err := l.list(ctx)
		if err == nil {
			began := time.Now()
			var saw bool
			if saw, err = l.watch(ctx, revision); saw || time.Since(began) > longestPause {
				pause = shortestPause // it worked, even if nothing changed
			}
		}
		// A revision that expired between list and watch, as while a cache is being filled, is no error: the
		// list is repeated.
		if err != nil && !apierrors.IsResourceExpired(err) && ctx.Err() == nil && l.Log != nil {
			l.Log.Warn("cannot follow the CustomResourceDefinitions: trying again", "error", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, longestPause)
	}
}

// list reads and stores all definitions that can be read.
func (l *Lister) list(ctx context.Context) (revision string, err error) {
	obj, unreadable, err := builtin.ListReadable(as(ctx, "list", ""), l.crds, &metainternalversion.ListOptions{})
	if err != nil {
		return "", err
	}
	list, err := builtin.As[*apiextensions.CustomResourceDefinitionList](obj)
	if err != nil {
		return "", err
	}
	at, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil {
		return "", fmt.Errorf("the list of CustomResourceDefinitions has the resourceVersion %q: %w", list.ResourceVersion, err)
	}
	definitions := make([]*Definition, len(list.Items))
	for i := range list.Items {
		if definitions[i], err = toV1(&list.Items[i]); err != nil {
			return "", fmt.Errorf("convert CustomResourceDefinition %s: %w", list.Items[i].Name, err)
		}
	}
	l.replace(definitions, unreadable, at)
	return list.ResourceVersion, nil
}

// watch stores all changes after a revision until the watch ends. saw reports whether there were any.
func (l *Lister) watch(ctx context.Context, revision string) (saw bool, err error) {
	w, err := l.crds.Watch(as(ctx, "watch", ""), &metainternalversion.ListOptions{ResourceVersion: revision})
	if err != nil {
		return false, err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		in, ok := event.Object.(*apiextensions.CustomResourceDefinition)
		if !ok {
			return saw, apierrors.FromObject(event.Object)
		}
		if event.Type == watch.Bookmark {
			continue
		}
		if in.Name == "" {
			return saw, builtin.ErrNameless
		}
		d, err := toV1(in)
		if err != nil {
			return saw, fmt.Errorf("convert CustomResourceDefinition %s: %w", in.Name, err)
		}
		l.changed(d, event.Type == watch.Deleted)
		saw = true
	}
	return saw, nil
}

// tell calls subscribers for changes.
func (l *Lister) tell(ctx context.Context) {
	told := map[string]*Definition{}
	synced := false
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return
		}
		l.mu.Lock()
		names, listed, changes := l.toTell, l.listed, l.changes.Load()
		l.toTell, l.isToTell = nil, map[string]bool{}
		l.mu.Unlock()
		for _, name := range names {
			if ctx.Err() != nil {
				return
			}
			old, now := told[name], l.Get(name)
			if old == now {
				continue
			}
			for _, h := range l.handlers {
				l.call(h, old, now)
			}
			if told[name] = now; now == nil {
				delete(told, name)
			}
		}
		l.mu.Lock()
		l.delivered = changes
		close(l.nextDelivery)
		l.nextDelivery = make(chan struct{})
		l.mu.Unlock()
		if listed && !synced {
			synced = true
			close(l.synced)
		}
	}
}

// call calls a subscriber. A panic about one definition must not end the process.
func (l *Lister) call(h func(old, now *Definition), old, now *Definition) {
	defer func() {
		if reason := recover(); reason != nil && l.Log != nil {
			l.Log.Error("panic about a change of a CustomResourceDefinition", "panic", reason, "stack", string(debug.Stack()))
		}
	}()
	h(old, now)
}

// revisionOf returns 0 for a definition without a revision, which storage never returns.
func revisionOf(d *Definition) uint64 {
	revision, _ := strconv.ParseUint(d.ResourceVersion, 10, 64)
	return revision
}

var apiServer = &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}

// as returns the context of a request that the server makes itself.
func as(ctx context.Context, verb, name string) context.Context {
	ctx = request.WithNamespace(request.WithUser(ctx, apiServer), "")
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: apiextensions.GroupName, APIVersion: "v1",
		Resource: "customresourcedefinitions", Name: name,
	})
}
