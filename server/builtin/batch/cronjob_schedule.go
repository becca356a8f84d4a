package batch

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // for systems without time zone files

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateSchedule rejects a time zone in the schedule: it has its own field. Stored cron jobs of older releases may
// keep it.
func validateSchedule(spec, old *batchv1.CronJobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if err := parseSchedule(spec.Schedule); err != nil {
		errs = append(errs, field.Invalid(path, spec.Schedule, err.Error()))
	}
	tolerated := old != nil && strings.Contains(old.Schedule, "TZ")
	switch {
	case !strings.Contains(spec.Schedule, "TZ"):
	case !tolerated:
		errs = append(errs, field.Invalid(path, spec.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	case spec.TimeZone != nil:
		errs = append(errs, field.Invalid(path, spec.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
	}
	return errs
}

// parseSchedule turns a panic of the parser into an error: it panics on a zone without a schedule, such as "TZ=UTC".
func parseSchedule(schedule string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("invalid schedule format: %v", r)
		}
	}()
	_, err = cron.ParseStandard(schedule)
	return err
}

// validateTimeZone accepts names in the form of the IANA: parts of up to 14 letters, digits and a few signs.
func validateTimeZone(zone string, path *field.Path) field.ErrorList {
	if zone == "" {
		return field.ErrorList{field.Invalid(path, zone, "timeZone must be nil or non-empty string")}
	}
	for _, part := range strings.Split(zone, "/") {
		if !isZonePart(part) {
			return field.ErrorList{field.Invalid(path, zone, fmt.Sprintf("unknown time zone %s", zone))}
		}
	}
	var errs field.ErrorList
	if strings.EqualFold(zone, "Local") {
		errs = append(errs,
			field.Invalid(path, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	}
	if _, err := time.LoadLocation(zone); err != nil {
		errs = append(errs, field.Invalid(path, zone, err.Error()))
	}
	return errs
}

// isZonePart also rejects parts that lead out of the directory of zones.
func isZonePart(part string) bool {
	if part == "" || len(part) > 14 || part == "." || part == ".." || part[0] == '-' {
		return false
	}
	for _, c := range part {
		if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_+", c) {
			return false
		}
	}
	return true
}
