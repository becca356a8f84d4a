package v1alpha1

import (
	"time"

	"github.com/kx-apiserver/kx/core/filter"
)

// Subject lets a filter look at a journey. What a list leaves out has no value there.
func Subject(j *Journey) filter.Subject {
	return filter.SubjectFunc(func(name string) (filter.Value, bool) {
		if get, ok := fieldsOfRequest[name]; ok {
			text := get(&j.Spec)
			return filter.TextValue(text), text != ""
		}
		if get, ok := fieldsOfSteps[name]; ok {
			var texts []string
			for i := range j.Status.Steps {
				if text := get(&j.Status.Steps[i]); text != "" {
					texts = append(texts, text)
				}
			}
			return filter.TextValues(texts), len(texts) > 0
		}
		return fieldOfStatus(j, name)
	})
}

var fieldsOfRequest = map[string]func(*JourneySpec) string{
	"verb":     func(s *JourneySpec) string { return s.Verb },
	"resource": func(s *JourneySpec) string { return s.Resource },
	"sub":      func(s *JourneySpec) string { return s.Subresource },
	"group":    func(s *JourneySpec) string { return s.Group },
	"version":  func(s *JourneySpec) string { return s.Version },
	"ns":       func(s *JourneySpec) string { return s.Namespace },
	"name":     func(s *JourneySpec) string { return s.Name },
	"method":   func(s *JourneySpec) string { return s.Method },
	"uri":      func(s *JourneySpec) string { return s.URI },
	"type":     func(s *JourneySpec) string { return s.ContentType },
	"user":     func(s *JourneySpec) string { return s.User },
	"agent":    func(s *JourneySpec) string { return s.UserAgent },
	"ip":       func(s *JourneySpec) string { return s.SourceIP },
	"audit":    func(s *JourneySpec) string { return s.AuditID },
}

var fieldsOfSteps = map[string]func(*Step) string{
	"step":  func(s *Step) string { return s.ID },
	"layer": func(s *Step) string { return s.Layer },
	"key":   func(s *Step) string { return s.Subject },
	"why":   func(s *Step) string { return s.Why },
	"reason": func(s *Step) string {
		if s.Reason == nil {
			return ""
		}
		return s.Reason.Kind
	},
	"error": func(s *Step) string { return s.Error },
}

// InSteps says whether a field of a filter is about steps, which lists leave out.
func InSteps(field string) bool { return fieldsOfSteps[field] != nil || field == "steps" }

func fieldOfStatus(j *Journey, name string) (filter.Value, bool) {
	complete := j.Status.Phase == JourneyComplete
	switch name {
	case "id":
		return filter.TextValue(j.Name), true
	case "phase":
		if complete {
			return filter.TextValue("done"), true
		}
		if j.Status.Phase == JourneyHeld {
			return filter.TextValue("held"), true
		}
		return filter.TextValue("running"), true
	case "code":
		return filter.NumberValue(int64(j.Status.Code)), j.Status.Code != 0
	case "bytes":
		return filter.NumberValue(j.Status.Bytes), complete
	case "dur":
		return filter.DurationValue(time.Duration(j.Status.TookMicros) * time.Microsecond), complete
	case "steps":
		return filter.NumberValue(int64(len(j.Status.Steps))), len(j.Status.Steps) > 0
	}
	return filter.Value{}, false
}
