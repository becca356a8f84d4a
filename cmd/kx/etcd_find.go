package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
)

type etcdFindOptions struct {
	*etcdOptions
	format                       render.Format
	revision, selector, jsonPath string
	criteria                     admin.Criteria
}

func newEtcdFindCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdFindOptions{etcdOptions: etcd}
	cmd := &cobra.Command{
		Use:   "find [PREFIX]",
		Short: "Find objects by name, label or JSONPath across all resources",
		Long: `Find objects by name, label or JSONPath across all resources, or those below PREFIX. An object must match all that is
given.

A JSONPath matches if it has a result, PATH=VALUE if one of its results is VALUE. Values are read only for -l and
--jsonpath. An object that can't be decoded is listed with the reason, and the exit code is then 1.`,
		Example: `  kx etcd find --name 'web-*'
  kx etcd find -n default -l app=web
  kx etcd find pods --jsonpath '{.spec.nodeName}=node-1'
  kx etcd find --jsonpath '{.spec.template.spec.containers[*].image}' -o json
  kx etcd find --jsonpath '{.metadata.finalizers}'         # what may hold up a deletion`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.completeKeys(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.read(cmd, func(ctx context.Context, r *reader) error { return o.run(ctx, r, args) })
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.criteria.Name, "name", "", "shell pattern for the name")
	fs.StringVarP(&o.criteria.Namespace, "namespace", "n", "", "namespace")
	completeFlag(cmd, "namespace", o.completeNamespace)
	fs.StringVarP(&o.selector, "selector", "l", "", "label selector")
	fs.StringVar(&o.jsonPath, "jsonpath", "", "JSONPath that has a result, or PATH=VALUE")
	fs.StringVar(&o.revision, "rev", "", "as it was at this revision; -100 is a hundred before now")
	listFormatVar(cmd, &o.format)
	return cmd
}

// parse reads the flags into criteria.
func (o *etcdFindOptions) parse() error {
	if o.selector != "" {
		selector, err := labels.Parse(o.selector)
		if err != nil {
			return fmt.Errorf("selector %q: %w", o.selector, err)
		}
		o.criteria.Labels = selector
	}
	// The value follows the last brace: an expression may contain = in filters.
	if end := strings.LastIndexByte(o.jsonPath, '}') + 1; o.jsonPath != "" {
		o.criteria.JSONPath = o.jsonPath[:end]
		value, ok := strings.CutPrefix(o.jsonPath[end:], "=")
		if end == 0 || !ok && o.jsonPath[end:] != "" {
			return fmt.Errorf("JSONPath %q: write {.an.expression} or {.an.expression}=value", o.jsonPath)
		}
		if ok {
			o.criteria.Equals = &value
		}
	}
	if o.criteria.Name == "" && o.criteria.Namespace == "" && o.criteria.Labels == nil && o.criteria.JSONPath == "" {
		return errors.New("find what? Give --name, --namespace, --selector or --jsonpath")
	}
	return nil
}

func (o *etcdFindOptions) run(ctx context.Context, r *reader, args []string) error {
	if err := o.parse(); err != nil {
		return err
	}
	revision, err := r.revision(ctx, o.revision)
	if err != nil {
		return err
	}
	o.criteria.Path = o.pathOf(args)
	list := render.NewList(r.out, o.format, render.Matches(o.criteria))
	progress := r.keysProgress()
	defer progress.Clear()
	unreadable := 0
	for m, err := range admin.Find(ctx, r, r.decoder, o.criteria, revision, progress.Add) {
		if err != nil {
			return err
		}
		if m.Error != "" {
			unreadable++
		}
		progress.Clear()
		if err := list.Add(m); err != nil {
			return err
		}
	}
	if err := list.Close(); err != nil {
		return err
	}
	if unreadable > 0 {
		return fmt.Errorf("%d values could not be decoded, so it is not known whether they belong here", unreadable)
	}
	return nil
}
