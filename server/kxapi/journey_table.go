package kxapi

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/builtin"
)

var journeyColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Verb", Type: "string", Description: "What was asked for."},
	{Name: "Resource", Type: "string", Description: "The resource, or the path where it is none."},
	{Name: "Object", Type: "string", Description: "Namespace and name."},
	{Name: "User", Type: "string", Description: "Who asked."},
	{Name: "Code", Type: "string", Description: "HTTP's status code, and that of the error that a watch ended with."},
	{Name: "Took", Type: "string", Description: "How long it took."},
	builtin.AgeColumn,
	{Name: "Client", Type: "string", Priority: 1, Description: "The client's program."},
	{Name: "Bytes", Type: "integer", Priority: 1, Description: "The size of the answer."},
}

func journeyRow(j *v1alpha1.Journey) metav1.TableRow {
	verb, resource, object := j.Spec.Verb, j.Spec.Resource, j.Spec.Name
	if resource == "" {
		resource, _, _ = strings.Cut(j.Spec.URI, "?")
	} else if j.Spec.Group != "" {
		resource += "." + j.Spec.Group
	}
	if j.Spec.Subresource != "" {
		resource += "/" + j.Spec.Subresource
	}
	if j.Spec.Namespace != "" {
		object = j.Spec.Namespace + "/" + object
	}
	code, took := "", "running"
	if j.Status.Code != 0 {
		code = strconv.Itoa(int(j.Status.Code))
	}
	if j.Status.WatchError != 0 {
		code += "/" + strconv.Itoa(int(j.Status.WatchError))
	}
	if j.Status.Phase == v1alpha1.JourneyComplete {
		took = (time.Duration(j.Status.TookMicros) * time.Microsecond).String()
	}
	return builtin.Row(j.Name, verb, resource, object, j.Spec.User, code, took, builtin.Age(j.CreationTimestamp),
		j.Spec.UserAgent, j.Status.Bytes)
}
