package core

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
)

var eventDocs = corev1.Event{}.SwaggerDoc()

var eventColumns = []builtin.Column{
	{Name: "Last Seen", Type: "string", Description: eventDocs["lastTimestamp"]},
	{Name: "Type", Type: "string", Description: eventDocs["type"]},
	{Name: "Reason", Type: "string", Description: eventDocs["reason"]},
	{Name: "Object", Type: "string", Description: eventDocs["involvedObject"]},
	{Name: "Subobject", Type: "string", Priority: 1, Description: corev1.ObjectReference{}.SwaggerDoc()["fieldPath"]},
	{Name: "Source", Type: "string", Priority: 1, Description: eventDocs["source"]},
	{Name: "Message", Type: "string", Description: eventDocs["message"]},
	{Name: "First Seen", Type: "string", Priority: 1, Description: eventDocs["firstTimestamp"]},
	{Name: "Count", Type: "string", Priority: 1, Description: eventDocs["count"]},
	{Name: "Name", Type: "string", Priority: 1, Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]},
}

func eventRow(e *corev1.Event) metav1.TableRow {
	first := builtin.Age(e.FirstTimestamp)
	if e.FirstTimestamp.IsZero() {
		first = builtin.MicroAge(e.EventTime)
	}
	last := builtin.Age(e.LastTimestamp)
	if e.LastTimestamp.IsZero() {
		last = first
	}
	count := e.Count
	if e.Series != nil {
		last, count = builtin.MicroAge(e.Series.LastObservedTime), e.Series.Count
	} else if count == 0 {
		// Events of the newer form have no count if they happened once.
		count = 1
	}
	object := strings.ToLower(e.InvolvedObject.Kind)
	if e.InvolvedObject.Name != "" {
		object += "/" + e.InvolvedObject.Name
	}
	return builtin.Row(last, e.Type, e.Reason, object, e.InvolvedObject.FieldPath, source(e), strings.TrimSpace(e.Message),
		first, int64(count), e.Name)
}

func source(e *corev1.Event) string {
	instance := e.Source.Host
	if instance == "" {
		instance = e.ReportingInstance
	}
	if instance == "" {
		return component(e)
	}
	return component(e) + ", " + instance
}
