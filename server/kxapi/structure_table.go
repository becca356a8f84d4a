package kxapi

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/registry"
)

var storeType = reflect.TypeFor[registry.Store]()

var structureColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Part", Type: "string", Description: "Filter, Server, Resource, Definition or Controller."},
	{Name: "What", Type: "string", Description: "What it is or does."},
	{Name: "Verbs", Type: "string", Description: "What can be done to a resource."},
	{Name: "Cache", Type: "string", Description: "How many objects a resource's watch cache has; - if it has no cache."},
	{Name: "Stored as", Type: "string", Priority: 1, Description: "The version and kind in which objects are stored."},
	{Name: "Subresources", Type: "string", Priority: 1, Description: "The names of a resource's subresources."},
	{Name: "Source", Type: "string", Priority: 1, Description: "Where its source is."},
}

func structureRow(s *v1alpha1.Structure) metav1.TableRow {
	var verbs, stored, subresources, cached string
	if r := s.Spec.Resource; r != nil {
		verbs, stored, subresources, cached = strings.Join(r.Verbs, ","), r.StoredAs, strings.Join(r.Subresources, ","), "-"
		if r.Cache != nil {
			cached = strconv.FormatInt(r.Cache.Items, 10)
		}
	}
	source := ""
	if p := s.Spec.Source; p.File != "" {
		source = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return builtin.Row(s.Name, string(s.Spec.Part), s.Spec.Title, verbs, cached, stored, subresources, source)
}
