package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/options"
)

// cacheOptions are what kx cache and the commands below it can be told.
type cacheOptions struct {
	dataDir    string
	kubeconfig string
	output     string
}

func newCacheCommand() *cobra.Command {
	o := &cacheOptions{dataDir: options.New().DataDir}
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look into the watch caches, and hold them against etcd",
		Long: `Look into the watch caches of a kx that runs: what each has, how far it is, who watches, and whether it has what etcd has.

A RESOURCE is named as in kx cache ls: configmaps, deployments.apps.

Exit codes: 0 done, 1 failed, 3 done and found a difference.`,
		Example: `  kx cache ls                                # all caches
  kx cache get configmaps                    # one of them, with its watches
  kx cache get configmaps default/settings   # one object in the cache, beside what etcd has
  kx cache check                             # compare all caches with etcd`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	fs := cmd.PersistentFlags()
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "the server's kubeconfig (default: KUBECONFIG, or else the kx that runs on "+o.dataDir+")")
	fs.StringVarP(&o.output, "output", "o", string(render.Table), "table, json or yaml")
	oneOf(cmd, "output", listFormats...)
	cmd.AddCommand(newCacheLsCommand(o), newCacheGetCommand(o), newCacheCheckCommand(o))
	return cmd
}

// caches reads kx.dev's caches of one server.
type caches struct {
	client rest.Interface
	format render.Format
	out    io.Writer
}

// open reaches the server.
func (o *cacheOptions) open(cmd *cobra.Command) (*caches, error) {
	format, err := render.ParseFormat(o.output, render.Table, render.JSON, render.YAML)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	config, err := (&traceOptions{dataDir: o.dataDir, kubeconfig: o.kubeconfig}).server()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	gv := v1alpha1.SchemeGroupVersion
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &gv, "/apis", scheme.Codecs.WithoutConversion() // for what it says of errors
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &caches{client: client, format: format, out: cmd.OutOrStdout()}, nil
}

// read gets what is below caches into an object. path is a cache's name and perhaps a subresource.
func (c *caches) read(ctx context.Context, into any, query url.Values, path ...string) error {
	req := c.client.Get().Resource("caches").Suffix(path...)
	for name, values := range query {
		for _, value := range values {
			req.Param(name, value)
		}
	}
	result := req.Do(ctx)
	err := result.Error()
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && apierrors.IsNotFound(err) &&
		status.Status().Details != nil && status.Status().Details.Kind == "caches" {
		return fmt.Errorf("cache: the server has no cache %q: kx cache ls lists those that it has", path[0])
	}
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	data, err := result.Raw()
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	return json.Unmarshal(data, into)
}

func newCacheLsCommand(o *cacheOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the watch caches: state, size, revision, lag, watches",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.open(cmd)
			if err != nil {
				return err
			}
			var list v1alpha1.CacheList
			if err := c.read(cmd.Context(), &list, nil); err != nil {
				return err
			}
			rows := render.NewList(c.out, c.format, cacheColumns...)
			for i := range list.Items {
				if err := rows.Add(&list.Items[i]); err != nil {
					return err
				}
			}
			return rows.Close()
		},
	}
}

func numberColumn[T any](title string, text func(T) string) render.Column[T] {
	return render.Column[T]{Title: title, Right: true, Text: text}
}

func textColumn[T any](title string, text func(T) string) render.Column[T] {
	return render.Column[T]{Title: title, Text: text}
}

var cacheColumns = []render.Column[*v1alpha1.Cache]{
	textColumn("NAME", func(c *v1alpha1.Cache) string { return c.Name }),
	textColumn("STATE", func(c *v1alpha1.Cache) string { return string(c.Status.State) }),
	numberColumn("ITEMS", func(c *v1alpha1.Cache) string { return render.Count(c.Status.Items) }),
	numberColumn("BYTES", func(c *v1alpha1.Cache) string { return render.Bytes(c.Status.Bytes) }),
	numberColumn("REVISION", func(c *v1alpha1.Cache) string { return fmt.Sprint(c.Status.Revision) }),
	numberColumn("LAG", func(c *v1alpha1.Cache) string { return render.Count(c.Status.Lag) }),
	numberColumn("WATCHES", func(c *v1alpha1.Cache) string { return render.Count(c.Status.Watches) }),
	numberColumn("EVENTS", func(c *v1alpha1.Cache) string { return render.Count(c.Status.History.Events) }),
	numberColumn("HITS", func(c *v1alpha1.Cache) string { return render.Count(c.Status.Hits) }),
	numberColumn("FALLBACKS", func(c *v1alpha1.Cache) string { return render.Count(c.Status.Fallbacks) }),
}

func newCacheGetCommand(o *cacheOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "get RESOURCE [[NAMESPACE/]NAME]",
		Short: "Show one cache with its watches, or one object as the cache has it, beside what etcd has",
		Args:  cobra.RangeArgs(1, 2),

		ValidArgsFunction: o.complete(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.open(cmd)
			if err != nil {
				return err
			}
			if len(args) == 2 {
				return c.showObject(cmd.Context(), args[0], args[1])
			}
			return c.show(cmd.Context(), args[0])
		},
	}
}

// complete completes the name of a cache, as the first argument or as any.
func (o *cacheOptions) complete(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := o.open(cmd)
		var list v1alpha1.CacheList
		if err != nil || c.read(cmd.Context(), &list, nil) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for i := range list.Items {
			if name := list.Items[i].Name; strings.HasPrefix(name, prefix) && !slices.Contains(args, name) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// show shows one cache.
func (c *caches) show(ctx context.Context, name string) error {
	var cache v1alpha1.Cache
	if err := c.read(ctx, &cache, nil, name); err != nil {
		return err
	}
	if c.format != render.Table {
		return render.One(c.out, c.format, &cache)
	}
	if err := writeFields(c.out, fieldsOfCache(&cache)); err != nil || len(cache.Status.Watchers) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(c.out); err != nil {
		return err
	}
	rows := render.NewList(c.out, c.format, watcherColumns...)
	for i := range cache.Status.Watchers {
		if err := rows.Add(&cache.Status.Watchers[i]); err != nil {
			return err
		}
	}
	return rows.Close()
}

func fieldsOfCache(cache *v1alpha1.Cache) [][2]string {
	s := &cache.Status
	state := fmt.Sprintf("%s for %s", s.State, ago(s.Since.Time))
	if s.Error != "" {
		state += ": " + s.Error
	}
	seen := fmt.Sprintf("%d, etcd is at %d", s.Revision, s.EtcdRevision)
	switch {
	case s.CaughtUpMicros == nil && s.Lag == 0:
		seen = fmt.Sprintf("%d, where etcd is now is not known", s.Revision)
	case s.CaughtUpMicros == nil:
		seen += ": the cache has not caught up"
	default:
		seen += fmt.Sprintf(": caught up in %s", time.Duration(*s.CaughtUpMicros)*time.Microsecond)
	}
	history := fmt.Sprintf("%s events after revision %d, %s", render.Count(s.History.Events), s.History.After, render.Bytes(s.History.Bytes))
	if s.History.Oldest != nil {
		history += ", the oldest " + ago(s.History.Oldest.Time) + " ago"
	}
	return [][2]string{
		{"Name", cache.Name},
		{"State", state},
		{"Items", fmt.Sprintf("%s, %s", render.Count(s.Items), render.Bytes(s.Bytes))},
		{"Revision", seen},
		{"History", history},
		{"Snapshots", fmt.Sprint(s.Snapshots)},
		{"Answered", fmt.Sprintf("%s by the cache, %s by etcd instead", render.Count(s.Hits), render.Count(s.Fallbacks))},
		{"Watches", render.Count(s.Watches)},
	}
}

func ago(t time.Time) string { return duration.HumanDuration(time.Since(t)) }

var watcherColumns = []render.Column[*v1alpha1.CacheWatcher]{
	textColumn("WATCH", func(w *v1alpha1.CacheWatcher) string { return fmt.Sprint(w.ID) }),
	textColumn("JOURNEY", func(w *v1alpha1.CacheWatcher) string { return orDash(w.Journey) }),
	textColumn("USER", func(w *v1alpha1.CacheWatcher) string { return orDash(w.User) }),
	textColumn("KEY", func(w *v1alpha1.CacheWatcher) string { return w.Key }),
	textColumn("SINCE", func(w *v1alpha1.CacheWatcher) string { return ago(w.Since.Time) }),
	textColumn("SELECTORS", func(w *v1alpha1.CacheWatcher) string {
		return orDash(strings.Trim(w.LabelSelector+" "+w.FieldSelector, " "))
	}),
	textColumn("FROM", func(w *v1alpha1.CacheWatcher) string { return fmt.Sprint(w.From) }),
	textColumn("AT", func(w *v1alpha1.CacheWatcher) string { return fmt.Sprint(w.At) }),
	textColumn("SENT", func(w *v1alpha1.CacheWatcher) string { return fmt.Sprint(w.Sent) }),
	textColumn("QUEUE", func(w *v1alpha1.CacheWatcher) string {
		queue := fmt.Sprintf("%d/%d", w.Queued, w.Buffer)
		if w.Behind {
			queue += " and behind"
		}
		return queue
	}),
	textColumn("BOOKMARK", func(w *v1alpha1.CacheWatcher) string {
		if w.LastBookmark == 0 {
			return "-"
		}
		return fmt.Sprint(w.LastBookmark)
	}),
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
