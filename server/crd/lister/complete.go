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

// longestDelay is the time after which Complete reports a change as unknown.
const longestDelay = time.Second

// Complete returns an error if etcd has definitions or changes that are not known here, because the watch is
// late or because a definition can't be read. A controller that empties a namespace must not consider it empty
// then. The error has the form that discovery clients use for missing groups.
func (l *Lister) Complete(ctx context.Context) error {
	late := time.NewTimer(longestDelay)
	defer late.Stop()
	for {
		told := l.NextDelivery()
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

// unknown lists the groups of definitions whose newest state is not known, each with the reason. It decodes no
// definition.
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
