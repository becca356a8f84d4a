package lister

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
)

// longestDelay is how long a change may take to become known before Complete calls it unknown.
const longestDelay = time.Second

// Complete returns an error if etcd has definitions, or changes of them, that are not known here: because the watch is
// late, or because there is one that can't be read. Who deletes what is in a namespace must not take it for empty then.
// The error is in the form in which clients of discovery say that they lack groups.
func (l *Lister) Complete(ctx context.Context) error {
	late := time.NewTimer(longestDelay)
	defer late.Stop()
	for {
		told := l.Told()
		unknown, err := l.unknown(ctx)
		if err != nil || len(unknown) == 0 {
			return err
		}
		select {
		case <-told:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			//lint:ignore ST1005 clients of discovery say it so
			return fmt.Errorf("Discovery failed for some groups, %d failing: unable to retrieve the complete list of server APIs: %s",
				len(unknown), strings.Join(unknown, ", "))
		}
	}
}

// unknown has the groups of definitions whose newest state is not known, each with the reason. It decodes none.
func (l *Lister) unknown(ctx context.Context) (groups []string, err error) {
	answer, err := rest.EncodedList(l.crds)(as(ctx, "list", ""), &metainternalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	list, ok := answer.(*object.List)
	if !ok {
		return nil, errors.New("the definitions can't be read as they are stored")
	}
	for item, err := range list.Items(ctx) {
		if err != nil {
			return nil, err
		}
		stored, ok := item.(*object.Encoded)
		if !ok {
			return nil, errors.New("a definition can't be read as it is stored")
		}
		name := path.Base(stored.Key())
		if d := l.Get(name); d == nil || revisionOf(d) < uint64(stored.Revision()) {
			_, group, _ := strings.Cut(name, ".")
			groups = append(groups, group+": stale GroupVersion discovery: "+name)
		}
	}
	return groups, nil
}
