package builtin

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Columns of nearly every resource.
var (
	NameColumn = Column{
		Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"],
	}
	AgeColumn = Column{
		Name: "Age", Type: "string", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
	}
)

// unknownAge is the cell of a time that is not set.
const unknownAge = "<unknown>"

// Age formats the time since t: "5m", "3d4h", "<unknown>".
func Age(t metav1.Time) string {
	if t.IsZero() {
		return unknownAge
	}
	return duration.HumanDuration(time.Since(t.Time))
}

// MicroAge is Age for a time with microseconds.
func MicroAge(t metav1.MicroTime) string { return Age(metav1.Time(t)) }
