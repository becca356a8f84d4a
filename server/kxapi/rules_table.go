package kxapi

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/builtin"
)

var breakpointColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Filter", Type: "string", Description: "Which steps of which requests."},
	{Name: "At", Type: "string", Description: "The beginning or the end of the step."},
	{Name: "Action", Type: "string", Description: "Whether requests are held."},
	{Name: "Hits", Type: "integer", Description: "How often it was hit."},
	{Name: "Held", Type: "integer", Description: "How many requests it holds now."},
	{Name: "Last", Type: "string", Description: "The journey that hit it last."},
	builtin.AgeColumn,
	{Name: "Matches", Type: "integer", Priority: 1, Description: "How many steps its filter found."},
	{Name: "Missed", Type: "integer", Priority: 1, Description: "How many it would have held, had there not been too many."},
}

func breakpointRow(b *v1alpha1.Breakpoint) metav1.TableRow {
	return builtin.Row(b.Name, b.Spec.Filter, string(b.Spec.At), string(b.Spec.Action), b.Status.Hits, int64(b.Status.Held),
		lastHit(b.Status), builtin.Age(b.CreationTimestamp), b.Status.Matches, b.Status.Missed)
}

var faultColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Effect", Type: "string", Description: "What goes wrong."},
	{Name: "Filter", Type: "string", Description: "At which steps of which requests."},
	{Name: "Hits", Type: "integer", Description: "How often it did."},
	{Name: "Matches", Type: "integer", Description: "How often it could have."},
	{Name: "Last", Type: "string", Description: "The journey that it hit last."},
	builtin.AgeColumn,
}

func faultRow(f *v1alpha1.Fault) metav1.TableRow {
	effect := string(f.Spec.Effect)
	if f.Spec.Code != 0 {
		effect += fmt.Sprintf(" %d", f.Spec.Code)
	}
	if f.Spec.Delay != nil {
		effect += " " + f.Spec.Delay.Duration.String()
	}
	return builtin.Row(f.Name, effect, f.Spec.Filter, f.Status.Hits, f.Status.Matches, lastHit(f.Status), builtin.Age(f.CreationTimestamp))
}

func lastHit(s v1alpha1.RuleStatus) string {
	if s.LastHit == nil {
		return ""
	}
	return s.LastHit.Journey
}
