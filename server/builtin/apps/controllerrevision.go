package apps

import (
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// ControllerRevision declares controllerrevisions.apps: earlier states of an object, to which its controller can roll
// back.
var ControllerRevision = builtin.Resource[*appsv1.ControllerRevision]{
	Names:          builtin.Names{Plural: "controllerrevisions", Singular: "controllerrevision"},
	List:           &appsv1.ControllerRevisionList{},
	Stored:         appsv1.SchemeGroupVersion,
	Validate:       validateControllerRevision,
	ValidateUpdate: validateControllerRevisionUpdate,
	Sample: `
revision: 1
data: {spec: {template: {}}}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Controller", Type: "string", Description: "Controller of the object"},
		{Name: "Revision", Type: "string", Description: appsv1.ControllerRevision{}.SwaggerDoc()["revision"]},
		builtin.AgeColumn,
	},
	Row: func(r *appsv1.ControllerRevision) metav1.TableRow {
		return builtin.Row(r.Name, controllerCell(r), r.Revision, builtin.Age(r.CreationTimestamp))
	},
}

// controllerCell returns the controller's kind and name: "statefulset.apps/web".
func controllerCell(r *appsv1.ControllerRevision) string {
	owner := metav1.GetControllerOf(r)
	if owner == nil {
		return "<none>"
	}
	kind := owner.Kind
	if group, _, ok := strings.Cut(owner.APIVersion, "/"); ok {
		kind += "." + group
	}
	return strings.ToLower(kind) + "/" + owner.Name
}

func validateCommon(r *appsv1.ControllerRevision) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&r.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, apivalidation.ValidateNonnegativeField(r.Revision, field.NewPath("revision"))...)
}

func validateControllerRevision(r *appsv1.ControllerRevision) field.ErrorList {
	return append(validateCommon(r), validateData(r.Data.Raw)...)
}

func validateData(raw []byte) field.ErrorList {
	path := field.NewPath("data")
	var data any
	if raw != nil {
		if err := json.Unmarshal(raw, &data); err != nil {
			return field.ErrorList{field.Invalid(path, "<value omitted>", fmt.Sprintf("error parsing data: %v", err))}
		}
	}
	switch data.(type) {
	case map[string]any:
		return nil
	case nil:
		return field.ErrorList{field.Required(path, "data is mandatory")}
	}
	return field.ErrorList{field.Required(path, "data must be a valid JSON object")}
}

func validateControllerRevisionUpdate(r, old *appsv1.ControllerRevision) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateCommon(r)...)
	return append(errs, apivalidation.ValidateImmutableField(r.Data, old.Data, field.NewPath("data"))...)
}
