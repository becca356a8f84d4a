package kxapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/builtin"
)

var cacheColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "State", Type: "string", Description: "How far the cache can be relied on."},
	{Name: "Since", Type: "string", Description: "How long it has been in this state."},
	{Name: "Items", Type: "integer", Description: "How many objects it has."},
	{Name: "Bytes", Type: "integer", Description: "What is kept of them."},
	{Name: "Revision", Type: "integer", Description: "Up to where it has seen all changes."},
	{Name: "Lag", Type: "integer", Description: "How many revisions it is behind what etcd is known to have."},
	{Name: "Watches", Type: "integer", Description: "How many watches there are."},
	{Name: "Hits", Type: "integer", Description: "How many reads and watches it answered."},
	{Name: "Fallbacks", Type: "integer", Description: "How many etcd answered instead."},
	{Name: "History", Type: "integer", Priority: 1, Description: "How many events watches can begin from."},
	{Name: "After", Type: "integer", Priority: 1, Description: "The revision after which all events are kept."},
	{Name: "Snapshots", Type: "integer", Priority: 1, Description: "How many earlier states are kept for pages."},
	{Name: "Error", Type: "string", Priority: 1, Description: "Why it is in this state."},
}

func cacheRow(c *v1alpha1.Cache) metav1.TableRow {
	s := &c.Status
	return builtin.Row(c.Name, string(s.State), builtin.MicroAge(s.Since), s.Items, s.Bytes, s.Revision, s.Lag, s.Watches,
		s.Hits, s.Fallbacks,
		s.History.Events, s.History.After, int64(s.Snapshots), s.Error)
}
