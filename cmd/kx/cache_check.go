package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// writeFields writes names and values, a line each.
func writeFields(out io.Writer, fields [][2]string) error {
	width := 0
	for _, f := range fields {
		width = max(width, len(f[0]))
	}
	for _, f := range fields {
		if _, err := fmt.Fprintf(out, "%-*s  %s\n", width+1, f[0]+":", draw.Clean(f[1])); err != nil {
			return err
		}
	}
	return nil
}

// showObject shows an object as the cache has it, and how that differs from what etcd has.
func (c *caches) showObject(ctx context.Context, cache, object string) error {
	query := url.Values{"name": {object}}
	if namespace, name, ok := strings.Cut(object, "/"); ok {
		query = url.Values{"namespace": {namespace}, "name": {name}}
	}
	var both v1alpha1.CachedObject
	if err := c.read(ctx, &both, query, cache, "object"); err != nil {
		return err
	}
	s := &both.Status
	var err error
	if c.format == render.Table {
		err = c.besides(s)
	} else {
		err = render.One(c.out, c.format, &both)
	}
	if err == nil && s.Difference != "" {
		return &exitError{code: exitFound}
	}
	return err
}

// besides writes both states in words, and the object: once if it is the same, else as the difference of the two.
func (c *caches) besides(s *v1alpha1.CachedObjectStatus) error {
	verdict := "the same"
	if s.Difference != "" {
		verdict = s.Difference
	}
	err := writeFields(c.out, [][2]string{
		{"Key", s.Key},
		{"In the cache", inWords(s.Cached) + fmt.Sprintf(" (the cache has seen revision %d)", s.Revision)},
		{"In etcd", inWords(s.Etcd)},
		{"Verdict", verdict},
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(c.out); err != nil {
		return err
	}
	cached, stored := raw(s.Cached), raw(s.Etcd)
	if s.Difference == "" && stored != nil {
		data, err := indented(stored)
		if err != nil {
			return err
		}
		return render.One(c.out, render.YAML, data)
	}
	colored, err := render.Colored("auto", c.out)
	if err != nil {
		return err
	}
	_, err = render.Diff(c.out, orNull(cached), orNull(stored), colored)
	return err
}

func inWords(state *v1alpha1.ObjectState) string {
	switch {
	case state == nil:
		return "nothing"
	case state.Error != "":
		return fmt.Sprintf("revision %d, %s, can't be read: %s", state.Revision, render.Bytes(state.Bytes), state.Error)
	}
	return fmt.Sprintf("revision %d, %s", state.Revision, render.Bytes(state.Bytes))
}

// raw is the object of a state as JSON, nil if there is none.
func raw(state *v1alpha1.ObjectState) []byte {
	if state == nil || state.Object == nil {
		return nil
	}
	return state.Object.Raw
}

func orNull(data []byte) []byte {
	if data == nil {
		return []byte("null")
	}
	return data
}

// indented reads JSON without losing what its numbers are.
func indented(data []byte) (any, error) {
	var value any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err := d.Decode(&value)
	return value, err
}

func newCacheCheckCommand(o *cacheOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "check [RESOURCE]...",
		Short: "Compare caches with etcd, each at one revision, and name every difference",
		Long: `Compare caches with etcd, each at one revision, and name every difference. Without a RESOURCE, all caches are compared.

Each comparison reads all of a resource in etcd. Exit code 3 says that something differs.`,
		ValidArgsFunction: o.complete(math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.open(cmd)
			if err != nil {
				return err
			}
			return c.check(cmd.Context(), args)
		},
	}
}

var checkColumns = []render.Column[*v1alpha1.CacheCheck]{
	textColumn("NAME", func(c *v1alpha1.CacheCheck) string { return c.Name }),
	numberColumn("ITEMS", func(c *v1alpha1.CacheCheck) string { return render.Count(c.Status.Items) }),
	numberColumn("REVISION", func(c *v1alpha1.CacheCheck) string { return fmt.Sprint(c.Status.Revision) }),
	numberColumn("TOOK", func(c *v1alpha1.CacheCheck) string {
		return (time.Duration(c.Status.TookMicros) * time.Microsecond).String()
	}),
	textColumn("VERDICT", func(c *v1alpha1.CacheCheck) string {
		if c.Status.Consistent {
			return "the same"
		}
		return fmt.Sprintf("%s differ", render.Count(int64(len(c.Status.Differences))+c.Status.Cut))
	}),
}

// check compares the named caches, or all.
func (c *caches) check(ctx context.Context, names []string) error {
	all := len(names) == 0
	if all {
		var list v1alpha1.CacheList
		if err := c.read(ctx, &list, nil); err != nil {
			return err
		}
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
	}
	rows := render.NewList(c.out, c.format, checkColumns...)
	var differing []*v1alpha1.CacheCheck
	for _, name := range names {
		check := &v1alpha1.CacheCheck{}
		err := c.read(ctx, check, nil, name, "check")
		if all && apierrors.IsNotFound(err) {
			continue // its resource has gone meanwhile
		}
		if err != nil {
			return errors.Join(rows.Close(), err)
		}
		if err := rows.Add(check); err != nil {
			return err
		}
		if !check.Status.Consistent {
			differing = append(differing, check)
		}
	}
	if err := rows.Close(); err != nil || len(differing) == 0 {
		return err
	}
	if c.format == render.Table {
		if err := c.name(differing); err != nil {
			return err
		}
	}
	return &exitError{code: exitFound}
}

// name writes every difference.
func (c *caches) name(differing []*v1alpha1.CacheCheck) error {
	for _, check := range differing {
		if _, err := fmt.Fprintf(c.out, "\n%s at revision %d:\n", check.Name, check.Status.Revision); err != nil {
			return err
		}
		for _, d := range check.Status.Differences {
			if _, err := fmt.Fprintf(c.out, "  %s\n", draw.Clean(d.Message)); err != nil {
				return err
			}
		}
		if check.Status.Cut > 0 {
			if _, err := fmt.Fprintf(c.out, "  and %s more\n", render.Count(check.Status.Cut)); err != nil {
				return err
			}
		}
	}
	return nil
}
